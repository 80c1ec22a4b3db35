// Antecedents rule after rule: the lanes of a vector run over inputs of one rule. Compiled at run time too.
#pragma once

#include "heddle/kernels/sonfin/cpu/train_state.hpp"

namespace heddle::sonfin::cpu {
namespace {

/// N: vectors of one rule's inputs in flight. Rows are padded to a multiple of W: x = 0, m = 0, which adds nothing.
template <int W, int N>
struct Dims {
  static constexpr int kTiles = 1;  ///< tiles that fire together
  using F = Float<W>;
  Antecedents a;

  /// Sum over inputs [from, to) of ((x - m) / sigma)^2, by lane.
  F fire_rule(const float* x, long long rule, long long from, long long to) const {
    const float* m = a.centres + rule * a.stride;
    const float* r = a.inverse + rule * a.stride;
    F sum[N] = {};
    long long j = from;
    for (; j + N * W <= to; j += N * W) {
#pragma GCC unroll 8
      for (int n = 0; n < N; ++n) {
        const F u = (load<W>(x + j + n * W) - load<W>(m + j + n * W)) * load<W>(r + j + n * W);
        sum[n] += u * u;
      }
    }
    for (; N > 1 && j < to; j += W) {
      const F u = (load<W>(x + j) - load<W>(m + j)) * load<W>(r + j);
      sum[0] += u * u;
    }
#pragma GCC unroll 8
    for (int n = 1; n < N; ++n) sum[0] += sum[n];
    return sum[0];
  }

  template <Move How, bool Fires>
  F learn_rule(const Samples& x, long long rule, float step) const {
    float* m = a.centres + rule * a.stride;
    float* r = a.inverse + rule * a.stride;
    F sum{};
    for (long long j = 0; j < a.stride; j += W) {
      F centre = load<W>(m + j), inverse = load<W>(r + j);
      move<W, How>(centre, inverse, load<W>(x.learned + j), broadcast<W>(step), a.largest_inverse);
      store<W>(m + j, centre);
      store<W>(r + j, inverse);
      if constexpr (Fires) {
        const F u = (load<W>(x.fired + j) - centre) * inverse;
        sum += u * u;
      }
    }
    return sum;
  }

  template <bool Fires>
  F learn_rule(const Samples& x, long long rule, float step, Move how) const {
    if (how == kSmall) return learn_rule<kSmall, Fires>(x, rule, step);
    if (how == kLarge) return learn_rule<kLarge, Fires>(x, rule, step);
    return learn_rule<kPlain, Fires>(x, rule, step);
  }

  void learn(const float* learned, long long tile, const float* step, Move how) const {
    for (int k = 0; k < W; ++k) {
      if (step[k] != 0.0f) learn_rule<false>({learned, nullptr}, tile * W + k, step[k], how);
    }
  }

  /// Log firing of one tile's `valid` rules, those with a step learnt before. What falls below `floor` may be given up.
  template <int Count>
  void fire(const Samples& x, long long tile, int valid, const float* step, const int* moves, float floor,
            F* log_firing) const {
    static_assert(Count == kTiles);
    F part[W] = {};
    int waiting[W];
    int count = 0;
    for (int k = 0; k < valid; ++k) {
      if (*moves != kStill && step[k] != 0.0f) {
        part[k] = learn_rule<true>(x, tile * W + k, step[k], static_cast<Move>(*moves));
      } else {
        waiting[count++] = k;
      }
    }
    const long long chunk = a.prune > 0 ? a.prune : a.stride;
    for (long long from = 0; count > 0; from += chunk) {
      const long long to = from + chunk < a.stride ? from + chunk : a.stride;
      for (int i = 0; i < count; ++i) part[waiting[i]] += fire_rule(x.fired, tile * W + waiting[i], from, to);
      if (to == a.stride) break;
      F copy[W];
      for (int k = 0; k < W; ++k) copy[k] = part[k];
      float so_far[W];
      store<W>(so_far, sums_of_each<W>(copy));
      int left = 0;
      for (int i = 0; i < count; ++i) {
        waiting[left] = waiting[i];
        left += -so_far[waiting[i]] >= floor ? 1 : 0;
      }
      count = left;
    }
    *log_firing = -sums_of_each<W>(part);
  }

  float squared_distance(const float* x, long long rule) const {
    return squared_distance_between(x, a.centres + rule * a.stride, 1, a.stride);
  }

  void add(const float* x, long long rule, float width) const {
    const long long first = rule * a.stride;
    for (long long j = 0; j < a.stride; ++j) {
      a.centres[first + j] = x[j];
      a.widths[first + j] = width;
      a.inverse[first + j] = 1.0f / width;
    }
  }
};

}  // namespace
}  // namespace heddle::sonfin::cpu
