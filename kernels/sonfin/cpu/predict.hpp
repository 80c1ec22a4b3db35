// Outputs of many rows on a CPU. Compiled at run time, and at build time for the configurations that need no compiler.
//
// Threads take blocks of B rows in turn. A block meets tile after tile of W rules: B x W log firings stay in registers
// while the inputs pass. Then each row is normalised and weighted.
//
//   centres, widths, inverse   [tile][input][W], padding rules included
//   consequents                [tile][output][W]
//
//   parameter  meaning
//   W          floats in a vector; rules in a tile
//   B          rows in registers
#pragma once

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/kernels/common/cpu_vector.hpp"
#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/cpu/sizes.hpp"

namespace heddle::sonfin::cpu {
namespace {

using namespace heddle::cpu;

template <int W, int B>
class RowPredictor {
 public:
  RowPredictor(const LaunchContext& context, void* const* a)
      : context_(context),
        centres_(static_cast<const float*>(a[0])),
        widths_(static_cast<const float*>(a[1])),
        consequents_(static_cast<const float*>(a[2])),
        control_(*static_cast<const PredictControl*>(a[3])),
        rows_(static_cast<const float*>(a[4])),
        outputs_(static_cast<float*>(a[5])),
        inverse_(static_cast<float*>(a[6])),
        dim_(*static_cast<const int*>(a[8])),
        output_count_(*static_cast<const int*>(a[9])),
        capacity_(*static_cast<const int*>(a[10])),
        firing_(static_cast<float*>(a[7]) + static_cast<long long>(context.thread) * PredictSizes{capacity_, B}.own()),
        tiles_((control_.rules + W - 1) / W) {}

  void run() {
    for (long long tile = context_.thread; tile < tiles_; tile += context_.threads) {
      for (long long j = tile * dim_ * W; j < (tile + 1) * dim_ * W; j += W) {
        store<W>(inverse_ + j, 1.0f / load<W>(widths_ + j));
      }
    }
    meet(context_, 1);
    for (int first = context_.thread * B; first < control_.rows; first += context_.threads * B) {
      const int count = control_.rows - first < B ? control_.rows - first : B;
      fire(first, count);
      for (int b = 0; b < count; ++b) combine(first + b, firing_ + static_cast<long long>(b) * capacity_);
    }
  }

 private:
  using F = Float<W>;

  /// firing_[row][rule] for `count` rows; a block that is not full repeats its last row.
  void fire(int first, int count) {
    const float* x[B];
    for (int b = 0; b < B; ++b) x[b] = rows_ + (first + (b < count ? b : count - 1)) * dim_;
    for (long long tile = 0; tile < tiles_; ++tile) {
      F sum[B] = {};
      const float* m = centres_ + tile * dim_ * W;
      const float* r = inverse_ + tile * dim_ * W;
      for (long long j = 0; j < dim_; ++j) {
        const F centre = load<W>(m + j * W), inverse = load<W>(r + j * W);
#pragma GCC unroll 16
        for (int b = 0; b < B; ++b) {
          const F u = (broadcast<W>(x[b][j]) - centre) * inverse;
          sum[b] += u * u;
        }
      }
      const Int<W> live = lanes<W>() < control_.rules - static_cast<int>(tile) * W;
      for (int b = 0; b < B; ++b) {
        store<W>(firing_ + static_cast<long long>(b) * capacity_ + tile * W, live ? -sum[b] : broadcast<W>(-kInfinity));
      }
    }
  }

  void combine(int row, float* firing) {
    F best = load<W>(firing);
    for (long long tile = 1; tile < tiles_; ++tile) best = larger<W>(best, load<W>(firing + tile * W));
    const float top = largest_lane<W>(best);
    F sum{};
    for (long long tile = 0; tile < tiles_; ++tile) {
      const F weight = exp_of_negative<W>(load<W>(firing + tile * W) - top);
      store<W>(firing + tile * W, weight);
      sum += weight;
    }
    const float inverse_sum = 1.0f / sum_of_lanes<W>(sum);
    float* output = outputs_ + row * output_count_;
    int l = 0;
    for (; l + 4 <= output_count_; l += 4) weigh<4>(firing, l, inverse_sum, output);
    for (; l < output_count_; ++l) weigh<1>(firing, l, inverse_sum, output);
  }

  template <int Outputs>
  void weigh(const float* weights, int first, float inverse_sum, float* output) const {
    F sum[Outputs] = {};
    for (long long tile = 0; tile < tiles_; ++tile) {
      const F weight = load<W>(weights + tile * W);
      const float* w = consequents_ + (tile * output_count_ + first) * W;
#pragma GCC unroll 4
      for (int o = 0; o < Outputs; ++o) sum[o] += weight * load<W>(w + o * W);
    }
    for (int o = 0; o < Outputs; ++o) output[first + o] = sum_of_lanes<W>(sum[o]) * inverse_sum;
  }

  const LaunchContext& context_;
  const float *centres_, *widths_, *consequents_;
  const PredictControl control_;
  const float* rows_;
  float* outputs_;
  float* inverse_;  // 1 / widths
  const long long dim_, output_count_;
  const int capacity_;  // rules, a multiple of W
  float* firing_;       // B rows of `capacity_`
  const long long tiles_;
};

template <int W, int B>
void predict(const LaunchContext& context, void* const* arguments) {
  RowPredictor<W, B>(context, arguments).run();
}

}  // namespace
}  // namespace heddle::sonfin::cpu
