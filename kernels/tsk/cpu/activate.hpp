// Activations of the rows of a tile on a CPU. Compiled at run time too.
#pragma once

#include "heddle/kernels/tsk/cpu/lanes.hpp"
#include "heddle/kernels/tsk/cpu/sizes.hpp"

namespace heddle::tsk::cpu {
namespace {

/// Activations of the rows of one tile.
template <class Real, int W, int B>
class Activator {
 public:
  using V = Vector<Real, W>;
  Activator(const float* rows, const Real* antecedents, Real* x, const Sizes& sizes)
      : rows_(rows), centres_(antecedents), inverse_(antecedents + sizes.rules * sizes.dim), x_(x), sizes_(sizes) {}

  /// x[j][b] of `count` rows from `first` on; a tile that is not full repeats its last row.
  void fetch(long long first, int count) const {
    for (int b = 0; b < B; ++b) {
      const float* row = rows_ + (first + (b < count ? b : count - 1)) * sizes_.dim;
      for (long long j = 0; j < sizes_.dim; ++j) x_[j * B + b] = static_cast<Real>(row[j]);
    }
  }

  /// phi[k][b] of the rows fetched.
  void activate(Real* phi) const {
    for (int b = 0; b < B; b += W) {
      V best = in_all_lanes<Real, W>(-static_cast<Real>(kInfinity));
      long long k = 0;
      for (; k + 4 <= sizes_.rules; k += 4) fire<4>(phi, k, b, best);
      for (; k < sizes_.rules; ++k) fire<1>(phi, k, b, best);
      V sum{};
      for (k = 0; k < sizes_.rules; ++k) {
        const V weight = exponential<Real, W>(load_lanes<Real, W>(phi + k * B + b) - best);
        store_lanes<Real, W>(phi + k * B + b, weight);
        sum += weight;
      }
      const V scale = Real(1) / sum;
      for (k = 0; k < sizes_.rules; ++k)
        store_lanes<Real, W>(phi + k * B + b, load_lanes<Real, W>(phi + k * B + b) * scale);
    }
  }

 private:
  template <int Rules>
  void fire(Real* phi, long long k, int b, V& best) const {
    V sum[Rules] = {};
    const Real* c = centres_ + k * sizes_.dim;
    const Real* r = inverse_ + k * sizes_.dim;
    for (long long j = 0; j < sizes_.dim; ++j) {
      const V x = load_lanes<Real, W>(x_ + j * B + b);
#pragma GCC unroll 4
      for (int i = 0; i < Rules; ++i) {
        const V u = (x - in_all_lanes<Real, W>(c[i * sizes_.dim + j])) * in_all_lanes<Real, W>(r[i * sizes_.dim + j]);
        sum[i] += u * u;
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < Rules; ++i) {
      const V log_firing = sum[i] * Real(-0.5);
      store_lanes<Real, W>(phi + (k + i) * B + b, log_firing);
      best = best > log_firing ? best : log_firing;
    }
  }

  const float* rows_;
  const Real *centres_, *inverse_;
  Real* x_;
  const Sizes& sizes_;
};

}  // namespace
}  // namespace heddle::tsk::cpu
