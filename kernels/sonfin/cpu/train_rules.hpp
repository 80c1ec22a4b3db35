// Antecedents as [tile][input][W]: the lanes of a vector run over the rules of a tile. Compiled at run time too.
#pragma once

#include "heddle/kernels/sonfin/cpu/train_state.hpp"

namespace heddle::sonfin::cpu {
namespace {

/// N: tiles that fire together, so that each input is loaded once for all. Lanes without a rule compute something that
/// nobody reads.
template <int W, int N>
struct Rules {
  static constexpr int kTiles = N;
  using F = Float<W>;
  Antecedents a;

  template <int Count, Move How, bool Fires>
  void sweep(const Samples& x, long long tile, const float* step, float floor, F* log_firing) const {
    constexpr bool Learns = How != kStill;
    const long long first = tile * a.stride * W;
    const long long apart = a.stride * W;  // between tiles
    F sum[Count] = {};
    F steps[Count];
#pragma GCC unroll 8
    for (int c = 0; Learns && c < Count; ++c) steps[c] = load<W>(step + c * W);
    const long long chunk = a.prune > 0 && !Learns ? a.prune : a.stride;
    for (long long from = 0;; from += chunk) {
      const long long to = from + chunk < a.stride ? from + chunk : a.stride;
      for (long long j = from; j < to; ++j) {
#pragma GCC unroll 8
        for (int c = 0; c < Count; ++c) {
          const long long here = first + c * apart + j * W;
          F centre = load<W>(a.centres + here), inverse = load<W>(a.inverse + here);
          if constexpr (Learns) {
            move<W, How>(centre, inverse, broadcast<W>(x.learned[j]), steps[c], a.largest_inverse);
            store<W>(a.centres + here, centre);
            store<W>(a.inverse + here, inverse);
          }
          if constexpr (Fires) {
            const F u = (broadcast<W>(x.fired[j]) - centre) * inverse;
            sum[c] += u * u;
          }
        }
      }
      if (to == a.stride) break;
      F best = -sum[0];
      for (int c = 1; c < Count; ++c) best = larger<W>(best, -sum[c]);
      if (largest_lane<W>(best) < floor) break;
    }
    for (int c = 0; Fires && c < Count; ++c) log_firing[c] = -sum[c];
  }

  void learn(const float* learned, long long tile, const float* step, Move how) const {
    const Samples x = {learned, nullptr};
    if (how == kSmall) return sweep<1, kSmall, false>(x, tile, step, 0.0f, nullptr);
    if (how == kLarge) return sweep<1, kLarge, false>(x, tile, step, 0.0f, nullptr);
    sweep<1, kPlain, false>(x, tile, step, 0.0f, nullptr);
  }

  /// Log firing of `Count` tiles from `tile` on, all learnt before if one of them moves, so steps are 0 where none is
  /// due. What falls below `floor` may be given up.
  template <int Count>
  void fire(const Samples& x, long long tile, int /*valid*/, const float* step, const int* moves, float floor,
            F* log_firing) const {
    int how = moves[0];
    for (int c = 1; c < Count; ++c) how = moves[c] > how ? moves[c] : how;
    if (how == kStill) return sweep<Count, kStill, true>(x, tile, step, floor, log_firing);
    if (how == kSmall) return sweep<Count, kSmall, true>(x, tile, step, floor, log_firing);
    if (how == kLarge) return sweep<Count, kLarge, true>(x, tile, step, floor, log_firing);
    sweep<Count, kPlain, true>(x, tile, step, floor, log_firing);
  }

  float squared_distance(const float* x, long long rule) const {
    return squared_distance_between(x, a.centres + rule / W * a.stride * W + rule % W, W, a.stride);
  }

  void add(const float* x, long long rule, float width) const {
    const long long first = rule / W * a.stride * W + rule % W;
    for (long long j = 0; j < a.stride; ++j) {
      a.centres[first + j * W] = x[j];
      a.widths[first + j * W] = width;
      a.inverse[first + j * W] = 1.0f / width;
    }
  }
};

}  // namespace
}  // namespace heddle::sonfin::cpu
