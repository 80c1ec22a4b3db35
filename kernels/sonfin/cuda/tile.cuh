// The task matrix R x D of one sample, laid over the threads of a grid: firing, and the update of centres and widths.
//
// | parameter | meaning |
// |---|---|
// | Block  | threads of a block |
// | Lanes  | threads that share one rule, a power of two; Block / Lanes groups in a block |
// | Inputs | packs of inputs of one rule that one thread takes at a time (coarsening over dims) |
// | Rules  | rules of which one thread takes the same inputs, each loaded once (coarsening over rules) |
// | Vector | inputs in one pack: one access of 4 * Vector bytes |
// | Tree   | sums over a group by a tree in shared memory instead of by shuffles |
//
// Group q of block b takes rules (b * Groups + q) * Rules + 0 .. Rules - 1. Inside a group, lane i takes packs
// i, i + Lanes, ...: neighbouring lanes touch neighbouring addresses.
//
// Layout: centres and widths are rows of `stride` floats, a multiple of 4; padding holds x = 0, m = 0, sigma = 1 and
// keeps it. All of it is exact for any R, D and L.
#pragma once

#include "heddle/kernels/common/memory.cuh"
#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/sonfin/cuda/decision.cuh"

namespace heddle::sonfin {

/// The decision for the sample just combined; the same in every thread.
struct Decision {
  bool learn;   ///< whether the sample is learnt at all
  int rules;    ///< live rules, a new one included
  int added;    ///< index of the new rule, or -1
  float width;  ///< of the new rule
};

template <int Block, int Lanes, int Inputs, int Rules, int Vector, bool Tree>
struct Tile {
  static_assert(Block % kWarp == 0 && Block <= 1024, "whole warps");
  static_assert(Lanes >= 1 && Lanes <= Block && (Lanes & (Lanes - 1)) == 0 && Block % Lanes == 0, "a power of two");
  static_assert(Inputs == 1 || Rules == 1, "coarsening goes one way");
  static_assert(Vector == 1 || Vector == 2 || Vector == 4, "one access");

  static constexpr int kGroups = Block / Lanes;
  static constexpr int kRulesPerBlock = kGroups * Rules;
  static constexpr int kWarpsPerGroup = Lanes > kWarp ? Lanes / kWarp : 1;
  static constexpr int kSpan = Lanes * Inputs * Vector;  ///< inputs that a group takes at a time
  /// Words of shared memory that reduce() needs for one value per rule.
  static constexpr int kReduceWords = Tree ? Block : (Lanes > kWarp ? Rules * (Block / kWarp) : 0);

  Pack<Vector> centre[Rules][Inputs], width[Rules][Inputs];
  Pack<Vector> learned[Inputs], fired[Inputs];  ///< x of the sample that moves the parameters, and of the next

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % Lanes; }
  __device__ static int group() { return static_cast<int>(threadIdx.x) / Lanes; }
  __device__ static int first_rule() { return (static_cast<int>(blockIdx.x) * kGroups + group()) * Rules; }
  __device__ static int input(int base, int i) { return base + (i * Lanes + lane()) * Vector; }

  /// Everything about the inputs from `base` on, requested at once. Rules up to the capacity are loaded whether they
  /// live or not; what is not there looks like padding, so that nothing else has to ask. A row that is nullptr is left
  /// out.
  __device__ __forceinline__ void fetch(const float* centres, const float* widths, const float* learned_row,
                                        const float* fired_row, int base, int stride, int capacity) {
    const long long corner = static_cast<long long>(first_rule()) * stride + input(base, 0);
    const float* const first_centre = centres + corner;
    const float* const first_width = widths + corner;
#pragma unroll
    for (int i = 0; i < Inputs; ++i) {
      const int j = input(base, i);
      const bool inside = j < stride;
      learned[i] = inside && learned_row != nullptr ? load<Vector>(learned_row + j) : filled<Vector>(0.0f);
      fired[i] = inside && fired_row != nullptr ? load<Vector>(fired_row + j) : filled<Vector>(0.0f);
#pragma unroll
      for (int r = 0; r < Rules; ++r) {
        const bool there = inside && first_rule() + r < capacity;
        const int at = r * stride + i * Lanes * Vector;
        centre[r][i] = there ? load<Vector>(first_centre + at) : filled<Vector>(0.0f);
        width[r][i] = there ? load<Vector>(first_width + at) : filled<Vector>(1.0f);
      }
    }
  }

  /// Moves m and sigma of the rules with a gradient, and sets those of a new rule; `gradient`: g_k of the Rules rules.
  /// Conditions that hold for the whole grid are written as arithmetic: the compiler would otherwise make a copy of the
  /// loop for each.
  __device__ __forceinline__ void update(float* centres, float* widths, const float (&gradient)[Rules], int base,
                                         int stride, int capacity, const Decision& decision, const Control& control) {
    const float plain = control.plain_step ? 1.0f : 0.0f, scaled = 1.0f - plain;
    const long long corner = static_cast<long long>(first_rule()) * stride + input(base, 0);
    float* const first_centre = centres + corner;
    float* const first_width = widths + corner;
#pragma unroll
    for (int r = 0; r < Rules; ++r) {
      const int rule = first_rule() + r;
      const bool fresh = rule == decision.added;
      if (!fresh && !(fabsf(gradient[r]) >= control.negligible_gradient)) continue;
      const float rate = 2.0f * control.antecedent_rate * gradient[r];
#pragma unroll
      for (int i = 0; i < Inputs; ++i) {
        if (fresh) {  // its gradient is 0, since x = m
          centre[r][i] = learned[i];
          width[r][i] = filled<Vector>(decision.width);
        }
#pragma unroll
        for (int v = 0; v < Vector; ++v) {
          float& m = centre[r][i].value[v];
          float& s = width[r][i].value[v];
          const float inverse = __fdividef(1.0f, s);
          const float offset = learned[i].value[v] - m;
          const float move = rate * offset * (plain * inverse * inverse + scaled);
          m -= move;
          s = fmaxf(s - move * offset * inverse, control.minimum_width);
        }
        if (rule < capacity && input(base, i) < stride) {
          const int at = r * stride + i * Lanes * Vector;
          store<Vector>(first_centre + at, centre[r][i]);
          store<Vector>(first_width + at, width[r][i]);
        }
      }
    }
  }

  /// Adds this thread's share of sum ((x - m) / sigma)^2 and, if wanted, of the squared distance |x - m|^2.
  template <bool Squared>
  __device__ __forceinline__ void fire(float (&scaled)[Rules], float (&squared)[Rules]) const {
#pragma unroll
    for (int i = 0; i < Inputs; ++i) {
#pragma unroll
      for (int r = 0; r < Rules; ++r) {
#pragma unroll
        for (int v = 0; v < Vector; ++v) {
          const float offset = fired[i].value[v] - centre[r][i].value[v];
          const float z = __fdividef(offset, width[r][i].value[v]);
          scaled[r] += z * z;
          if constexpr (Squared) squared[r] += offset * offset;
        }
      }
    }
  }

  /// Sums over each group, times `sign`, into own[q * Rules + r], kRulesPerBlock values. The whole block calls it; a
  /// barrier has to follow before they are read. `scratch`: kReduceWords words that nothing else uses until then.
  __device__ __forceinline__ static void reduce(float (&share)[Rules], float sign, float* own, float* scratch) {
    if constexpr (Tree) {
#pragma unroll
      for (int r = 0; r < Rules; ++r) {
        scratch[threadIdx.x] = share[r];
        __syncthreads();
#pragma unroll
        for (int half = Lanes / 2; half >= kWarp; half /= 2) {
          if (lane() < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
          __syncthreads();
        }
        // The rest fits one warp, which needs no barrier.
        const float sum = sum_over_lanes<(Lanes < kWarp ? Lanes : kWarp)>(scratch[threadIdx.x]);
        if (lane() == 0) own[group() * Rules + r] = sign * sum;
      }
    } else {
      constexpr int kShuffled = Lanes < kWarp ? Lanes : kWarp;
#pragma unroll
      for (int r = 0; r < Rules; ++r) share[r] = sum_over_lanes<kShuffled>(share[r]);
      if constexpr (Lanes <= kWarp) {
        if (lane() == 0) {
#pragma unroll
          for (int r = 0; r < Rules; ++r) own[group() * Rules + r] = sign * share[r];
        }
      } else {
        const int warp = static_cast<int>(threadIdx.x) / kWarp;
        if (threadIdx.x % kWarp == 0) {
#pragma unroll
          for (int r = 0; r < Rules; ++r) scratch[warp * Rules + r] = share[r];
        }
        __syncthreads();
#pragma unroll 1
        for (int p = static_cast<int>(threadIdx.x); p < kRulesPerBlock; p += Block) {
          float sum = 0.0f;
          for (int w = 0; w < kWarpsPerGroup; ++w)
            sum += scratch[((p / Rules) * kWarpsPerGroup + w) * Rules + p % Rules];
          own[p] = sign * sum;
        }
      }
    }
  }
};

/// Copies the rows of the next samples to where every launch of a captured graph finds them, and the progress to where
/// the launches pass it on. Grid: one block per sample.
__global__ void stage_rows(const float* rows, const float* targets, const int* order, const Control* control,
                           const Progress* progress, float* staged_rows, float* staged_targets, Progress* first,
                           int stride, int target_stride) {
  const int sample = static_cast<int>(blockIdx.x);
  const int position = progress->position + sample;
  if (sample == 0 && threadIdx.x == 0) *first = *progress;
  // Where no sample is left, the launches find zeros, and use them for nothing.
  const bool there = progress->halted == 0 && position < control->end;
  const long long row = there ? order[position] : 0;
  for (int j = static_cast<int>(threadIdx.x); j < stride; j += static_cast<int>(blockDim.x)) {
    staged_rows[static_cast<long long>(sample) * stride + j] = there ? rows[row * stride + j] : 0.0f;
  }
  for (int l = static_cast<int>(threadIdx.x); l < target_stride; l += static_cast<int>(blockDim.x)) {
    staged_targets[static_cast<long long>(sample) * target_stride + l] =
        there ? targets[row * target_stride + l] : 0.0f;
  }
}

}  // namespace heddle::sonfin
