// Online learning on a CPU: all weights change after every row. One thread; parameters and states stay where the
// buffers have them, and vectors run along the inputs of a neuron. Compiled at run time, and at build time for the
// default configurations.
//
// A step passes over the weights of a layer twice, from the first to the last for the values, and back for deltas,
// gradients and learning. Some neurons learn at a time, so that their gradients are in the first-level cache then.
//
//   parameter  meaning
//   W          floats in a vector
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/kernels/mlp/cpu/activate.hpp"
#include "heddle/kernels/mlp/cpu/learn.hpp"
#include "heddle/kernels/mlp/cpu/run_arguments.hpp"
#include "heddle/kernels/mlp/cpu/sizes.hpp"

namespace heddle::mlp::cpu {
namespace {

/// What mapping.cpp passes, in this order.
struct OnlineArguments : RunArguments {
  explicit OnlineArguments(void* const* a)
      : RunArguments(a),
        own(static_cast<float*>(a[kCount])),
        layers(*static_cast<const Layers*>(a[kCount + 1])),
        steps(*static_cast<const int*>(a[kCount + 2])),
        slots(*static_cast<const int*>(a[kCount + 3])) {}

  float* own;  ///< TileSizes of one row
  Layers layers;
  int steps;  ///< of the plan
  int slots;  ///< of `errors` and `order`
};

/// sums[n] += the products of line n of `lines`, `apart` from each other, with `with`, for `Lines` lines that share
/// what is loaded. Vectors first, then narrower ones, and single numbers at last: nothing beyond `count` is read.
template <int W, int Lines>
inline void add_products(const float* lines, long long apart, const float* with, int count, float* sums) {
  if constexpr (W >= 4) {
    using F = Float<W>;
    F sum[Lines]{};
    int i = 0;
    for (; i + W <= count; i += W) {
      const F shared = load<W>(with + i);
#pragma GCC unroll 8
      for (int n = 0; n < Lines; ++n) sum[n] += load<W>(lines + n * apart + i) * shared;
    }
#pragma GCC unroll 8
    for (int n = 0; n < Lines; ++n) sums[n] += sum_of_lanes<W>(sum[n]);
    if (i < count) add_products<W / 2, Lines>(lines + i, apart, with + i, count - i, sums);
  } else {
    for (int i = 0; i < count; ++i) {
#pragma GCC unroll 8
      for (int n = 0; n < Lines; ++n) sums[n] += lines[n * apart + i] * with[i];
    }
  }
}

/// to[i] = the sum over the lines of scale[n] * line n [i], for `count` numbers.
template <int W>
inline void sum_lines(const float* lines, long long apart, const float* scale, int number, int count, float* to) {
  if constexpr (W >= 4) {
    constexpr int kTogether = 4;  // vectors whose sums do not wait for each other
    using F = Float<W>;
    int i = 0;
    for (; i + kTogether * W <= count; i += kTogether * W) {
      F sum[kTogether]{};
      for (int n = 0; n < number; ++n) {
#pragma GCC unroll 4
        for (int v = 0; v < kTogether; ++v) sum[v] += load<W>(lines + n * apart + i + v * W) * scale[n];
      }
#pragma GCC unroll 4
      for (int v = 0; v < kTogether; ++v) store<W>(to + i + v * W, sum[v]);
    }
    for (; i + W <= count; i += W) {
      F sum{};
      for (int n = 0; n < number; ++n) sum += load<W>(lines + n * apart + i) * scale[n];
      store<W>(to + i, sum);
    }
    if (i < count) sum_lines<W / 2>(lines + i, apart, scale, number, count - i, to + i);
  } else {
    for (int i = 0; i < count; ++i) {
      float sum = 0.0f;
      for (int n = 0; n < number; ++n) sum += lines[n * apart + i] * scale[n];
      to[i] = sum;
    }
  }
}

template <int W>
class OnlineTrainer {
 public:
  explicit OnlineTrainer(void* const* arguments)
      : a_(arguments), control_(*a_.control), progress_(*a_.progress), layers_(a_.layers), sizes_{layers_, 1} {}

  void run() {
    if (!goes_on(control_, progress_, 0, a_.steps)) return;
    for (long long i = 0; i < sizes_.of_training(); ++i) a_.own[i] = 0.0f;  // paddings
    for (int done = 0; goes_on(control_, progress_, done, a_.steps); ++done) {
      // A launch that goes on without new orders takes those that are there again.
      const long long slot = (progress_.epoch - control_.first_epoch) % a_.slots;
      const long long row =
          control_.shuffled != 0 ? a_.order[slot * control_.rows + progress_.position] : progress_.position;
      row_ = a_.rows + row * layers_.inputs();
      pass_forward();
      const double squares = compare(a_.targets + row * layers_.outputs());
      const Decision decision = count_step(control_, layers_.outputs(), squares, progress_, a_.errors, a_.slots);
      pass_backward(decision, step_of(control_, progress_, 1));
    }
    *a_.progress = progress_;
  }

 private:
  static constexpr int kLines = 4;         ///< neurons whose sums are computed together
  static constexpr int kGradients = 2048;  ///< that are computed before they are learnt from: 8 KB

  [[nodiscard]] const float* values(int layer) const { return layer == 0 ? row_ : a_.own + sizes_.values(layer); }
  [[nodiscard]] float* deltas(int layer) const { return a_.own + sizes_.deltas(layer); }
  [[nodiscard]] const float* weights(int layer) const { return a_.parameters + layers_.weights_at(layer); }

  void pass_forward() const {
    for (int l = 0; l < layers_.count; ++l) {
      const int inputs = layers_.sizes[l], neurons = layers_.sizes[l + 1];
      const float *lines = weights(l), *biases = a_.parameters + layers_.biases_at(l);
      float* sums = a_.own + sizes_.values(l + 1);
      for (int n = 0; n < neurons; ++n) sums[n] = biases[n];
      int n = 0;
      for (; n + kLines <= neurons; n += kLines) {
        add_products<W, kLines>(lines + static_cast<long long>(n) * inputs, inputs, values(l), inputs, sums + n);
      }
      for (; n < neurons; ++n) {
        add_products<W, 1>(lines + static_cast<long long>(n) * inputs, inputs, values(l), inputs, sums + n);
      }
      activate<W>(sums, neurons, l + 1 == layers_.count ? control_.output : control_.hidden);
    }
  }

  /// The deltas of the outputs. Returns the sum of squared errors.
  double compare(const float* targets) const {
    const float* found = values(layers_.count);
    float* own = deltas(layers_.count);
    double squares = 0.0;
    for (int o = 0; o < layers_.outputs(); ++o) {
      own[o] = found[o] - targets[o];
      squares += static_cast<double>(own[o]) * static_cast<double>(own[o]);
    }
    multiply_by_slopes(own, found, layers_.outputs(), control_.output);
    return squares;
  }
  /// Up to a whole vector of paddings beyond `count`.
  static void multiply_by_slopes(float* own, const float* of, int count, int activation) {
    for (int i = 0; i < count; i += W) {
      store<W>(own + i, load<W>(own + i) * slope<W>(load<W>(of + i), activation));
    }
  }

  void pass_backward(Decision decision, const Step& step) const {
    for (int l = layers_.count - 1; l >= 0; --l) {
      const int inputs = layers_.sizes[l], neurons = layers_.sizes[l + 1];
      if (l > 0) {
        sum_lines<W>(weights(l), inputs, deltas(l + 1), neurons, inputs, deltas(l));
        multiply_by_slopes(deltas(l), values(l), inputs, control_.hidden);
      }
      const int together = inputs < kGradients ? kGradients / inputs : 1;
      for (int n = 0; n < neurons; n += together) {
        learn_neurons(l, n, neurons - n < together ? neurons - n : together, decision, step);
      }
      float* of_biases = a_.gradient + layers_.biases_at(l);
      for (int n = 0; n < neurons; ++n) of_biases[n] = step.gradient_factor * deltas(l + 1)[n];
      learn_from(layers_.biases_at(l), neurons, decision, step);
    }
  }
  /// The weights of `count` neurons.
  void learn_neurons(int layer, int first, int count, Decision decision, const Step& step) const {
    const int inputs = layers_.sizes[layer];
    const long long offset = layers_.weights_at(layer) + static_cast<long long>(first) * inputs;
    const float* from = values(layer);
    float* to = a_.gradient + offset;
    for (int n = first; n < first + count; ++n, to += inputs) {
      const float factor = step.gradient_factor * deltas(layer + 1)[n];
#pragma GCC ivdep
      for (int i = 0; i < inputs; ++i) to[i] = factor * from[i];
    }
    learn_from(offset, count * inputs, decision, step);
  }
  void learn_from(long long offset, int count, Decision decision, const Step& step) const {
    change_parameters(control_, decision, step, {a_.parameters, a_.state, a_.gradient, layers_.parameters()}, offset,
                      count);
  }

  const OnlineArguments a_;
  const Control control_;
  Progress progress_;
  const Layers layers_;
  const TileSizes sizes_;
  const float* row_ = nullptr;  ///< of the step
};

template <int W>
void train_online(const LaunchContext&, void* const* arguments) {
  OnlineTrainer<W>(arguments).run();
}

}  // namespace
}  // namespace heddle::mlp::cpu
