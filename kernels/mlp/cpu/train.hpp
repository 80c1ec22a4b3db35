// Steps of learning on a CPU. Compiled at run time, and at build time for the configurations that need no compiler.
//
// The rows of a step lie in tiles, which are dealt to as many parts as the configuration has threads; each part adds up
// the gradients of its tiles. Then the weights are dealt to the threads: the sums of all parts are added in their
// order, and the weights learn. So the result does not depend on how many threads do the parts.
//
//   parameter  meaning
//   W          floats in a vector
//   Rows       rows x vectors of sums that stay in registers: multiply.hpp
//   Vectors
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/kernels/mlp/cpu/forward.hpp"
#include "heddle/kernels/mlp/cpu/learn.hpp"
#include "heddle/kernels/mlp/cpu/run_arguments.hpp"

namespace heddle::mlp::cpu {
namespace {

/// What mapping.cpp passes, in this order.
struct TrainArguments : RunArguments {
  explicit TrainArguments(void* const* a)
      : RunArguments(a),
        packed(static_cast<float*>(a[kCount])),
        sums(static_cast<float*>(a[kCount + 1])),
        squares(static_cast<double*>(a[kCount + 2])),
        own(static_cast<float*>(a[kCount + 3])),
        layers(*static_cast<const Layers*>(a[kCount + 4])),
        tile_rows(*static_cast<const int*>(a[kCount + 5])),
        parts(*static_cast<const int*>(a[kCount + 6])),
        steps(*static_cast<const int*>(a[kCount + 7])),
        slots(*static_cast<const int*>(a[kCount + 8])) {}

  float* packed;    ///< PackedSizes
  float* sums;      ///< of each part: GradientSizes
  double* squares;  ///< of each part, a cache line apart: sum of squared errors
  float* own;       ///< of each thread: TileSizes
  Layers layers;
  int tile_rows;
  int parts;
  int steps;  ///< of the plan
  int slots;  ///< of `errors` and `order`
};

constexpr int kDoublesOfLine = 8;

/// One thread's part of the kernel.
template <int W, int Rows, int Vectors>
class Trainer {
 public:
  Trainer(const LaunchContext& context, void* const* arguments)
      : context_(context),
        a_(arguments),
        control_(*a_.control),
        progress_(*a_.progress),
        layers_(a_.layers),
        packed_(a_.packed, layers_),
        gradients_{layers_},
        tile_sizes_{layers_, a_.tile_rows},
        tile_(a_.own + context.thread * tile_sizes_.of_training()) {}

  void run() {
    if (!goes_on(control_, progress_, 0, a_.steps)) return;
    for_each_unit(layers_, context_.thread, context_.threads,
                  [&](int layer, int first, int count) { packed_.fill(a_.parameters, layer, first, count); });
    unsigned round = 0;
    meet(context_, ++round);
    for (int done = 0; goes_on(control_, progress_, done, a_.steps); ++done) {
      const int rows = rows_of_step(control_, progress_);
      // Tiles so small that every part has one; a multiple of the rows in registers.
      const int share = ((rows + a_.parts - 1) / a_.parts + Rows - 1) / Rows * Rows;
      const int tile = share < a_.tile_rows ? share : a_.tile_rows;
      const int tiles = (rows + tile - 1) / tile, busy = tiles < a_.parts ? tiles : a_.parts;
      for (int part = context_.thread; part < busy; part += context_.threads) add_up(part, tile, rows);
      meet(context_, ++round);
      double squares = 0.0;
      for (int part = 0; part < busy; ++part) squares += a_.squares[part * kDoublesOfLine];
      const Decision decision = count_step(control_, layers_.outputs(), squares, progress_,
                                           context_.thread == 0 ? a_.errors : nullptr, a_.slots);
      const Step step = step_of(control_, progress_, rows);
      for_each_unit(layers_, context_.thread, context_.threads,
                    [&](int layer, int first, int count) { change(layer, first, count, busy, decision, step); });
      meet(context_, ++round);
    }
    if (context_.thread == 0) *a_.progress = progress_;
  }

 private:
  using F = Float<W>;

  /// The gradients of the tiles of a part, of `rows` rows in tiles of `tile`.
  void add_up(int part, int tile, int rows) {
    float* sums = a_.sums + part * gradients_.all();
    for (long long i = 0; i < gradients_.all(); i += W) store<W>(sums + i, F{});
    // A launch that goes on without new orders takes those that are there again.
    const long long slot = (progress_.epoch - control_.first_epoch) % a_.slots;
    const int* order = control_.shuffled != 0 ? a_.order + slot * control_.rows : nullptr;
    double squares = 0.0;
    for (int first = part * tile; first < rows; first += a_.parts * tile) {
      const int count = rows - first < tile ? rows - first : tile;
      fetch(order, progress_.position + first, count);
      pass_forward<W, Rows, Vectors>(packed_, tile_sizes_, tile_, count, control_.hidden, control_.output);
      squares += compare(count);
      pass_backward(count, sums);
    }
    a_.squares[part * kDoublesOfLine] = squares;
  }

  /// Inputs of the tile, and its targets in place of the outputs' deltas.
  void fetch(const int* order, int position, int count) const {
    const int inputs = layers_.inputs(), outputs = layers_.outputs();
    float* targets = tile_ + tile_sizes_.deltas(layers_.count);
    for (int b = 0; b < count; ++b) {
      const long long row = order != nullptr ? order[position + b] : position + b;
      copy_row(a_.rows + row * inputs, tile_ + b * padded(inputs), inputs);
      copy_row(a_.targets + row * outputs, targets + b * padded(outputs), outputs);
    }
  }

  /// Turns the targets into deltas of the outputs. Returns the sum of squared errors.
  double compare(int count) const {
    const int outputs = layers_.outputs();
    const long long wide = padded(outputs);
    const float* values = tile_ + tile_sizes_.values(layers_.count);
    float* deltas = tile_ + tile_sizes_.deltas(layers_.count);
    const Int<W> lane = lanes<W>();
    double squares = 0.0;
    for (int b = 0; b < count; ++b, values += wide, deltas += wide) {
      F sum{};
      for (int o = 0; o < outputs; o += W) {
        const F y = load<W>(values + o), error = y - load<W>(deltas + o);
        sum += lane < outputs - o ? error * error : F{};
        store<W>(deltas + o, error * slope<W>(y, control_.output));
      }
      squares += static_cast<double>(sum_of_lanes<W>(sum));
    }
    return squares;
  }

  /// From the deltas of the outputs to all others, and to the gradients.
  void pass_backward(int count, float* sums) const {
    for (int l = layers_.count - 1; l >= 0; --l) {
      const int inputs = layers_.sizes[l], neurons = layers_.sizes[l + 1];
      const long long wide = padded(neurons), long_row = padded(inputs);
      const float* deltas = tile_ + tile_sizes_.deltas(l + 1);
      float* own = sums + gradients_.at(l);
      multiply<W, Rows, Vectors>(Left{deltas, 1, wide}, Right{tile_ + tile_sizes_.values(l), long_row},
                                 Sums{own, long_row}, Extents{neurons, inputs, count});
      float* of_biases = own + gradients_.weights(l);
      for (int o = 0; o < neurons; o += W) {
        F sum = load<W>(of_biases + o);
        for (int b = 0; b < count; ++b) sum += load<W>(deltas + b * wide + o);
        store<W>(of_biases + o, sum);
      }
      if (l == 0) return;
      const float* values = tile_ + tile_sizes_.values(l);
      float* before = tile_ + tile_sizes_.deltas(l);
      for (long long i = 0; i < count * long_row; i += W) store<W>(before + i, F{});
      multiply<W, Rows, Vectors>(Left{deltas, wide, 1}, Right{packed_.weights(l), long_row}, Sums{before, long_row},
                                 Extents{count, inputs, neurons});
      for (long long i = 0; i < count * long_row; i += W) {
        store<W>(before + i, load<W>(before + i) * slope<W>(load<W>(values + i), control_.hidden));
      }
    }
  }

  /// Weights and biases of some neurons learn, and go to where the kernels read them.
  void change(int layer, int first, int count, int busy, Decision decision, const Step& step) const {
    const int inputs = layers_.sizes[layer];
    const float* sums = a_.sums + gradients_.at(layer);
    for (int o = first; o < first + count; ++o) {
      change_some(layers_.weights_at(layer) + static_cast<long long>(o) * inputs, sums + o * padded(inputs), inputs,
                  busy, decision, step);
    }
    change_some(layers_.biases_at(layer) + first, sums + gradients_.weights(layer) + first, count, busy, decision,
                step);
    packed_.fill(a_.parameters, layer, first, count);
  }

  /// `count` parameters from `offset` on, whose sums of gradients are at `sums` for the first part.
  void change_some(long long offset, const float* sums, int count, int busy, Decision decision,
                   const Step& step) const {
    float* gradient = a_.gradient + offset;
    for (int i = 0; i < count; ++i) gradient[i] = sums[i];
    for (int part = 1; part < busy; ++part) {
      const float* more = sums + part * gradients_.all();
      for (int i = 0; i < count; ++i) gradient[i] += more[i];
    }
    for (int i = 0; i < count; ++i) gradient[i] *= step.gradient_factor;
    change_parameters(control_, decision, step, {a_.parameters, a_.state, a_.gradient, layers_.parameters()}, offset,
                      count);
  }

  const LaunchContext& context_;
  const TrainArguments a_;
  const Control control_;
  Progress progress_;
  const Layers layers_;
  const Packed packed_;
  const GradientSizes gradients_;
  const TileSizes tile_sizes_;
  float* tile_;
};

template <int W, int Rows, int Vectors>
void train(const LaunchContext& context, void* const* arguments) {
  Trainer<W, Rows, Vectors>(context, arguments).run();
}

}  // namespace
}  // namespace heddle::mlp::cpu
