// Outputs of a SONFIN for many rows. Formulas: docs/design.md, "The network".
//
//   fire_rows     log firing of all rules for all rows: a tile of rows x rules per block, as a matrix product is tiled
//   combine_rows  normalises the firing of one row and sums the consequents: a warp per row
//
// | parameter | meaning |
// |---|---|
// | BlockRows, BlockRules   | tile of one block |
// | ThreadRows, ThreadRules | part of it that one thread keeps in registers (coarsening over rows and rules) |
// | Depth                   | inputs that are in shared memory at a time |
// | Block                   | threads of a block of combine_rows |
//
// Layout: rows, centres and widths are rows of `stride` floats; consequents lie output after output, w_kl at
// l * capacity + k; log_firing is rows x capacity; outputs rows x L without padding.
#pragma once

#include "heddle/kernels/common/memory.cuh"
#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/sonfin/control.cuh"

namespace heddle::sonfin {

/// Of `Count` values that a thread takes of `Total`, the packs: 4 neighbours at a time if there are so many.
template <int Count, int Total>
struct Packs {
  static constexpr int kWidth = Count < 4 ? Count : 4;
  static constexpr int kStep = kWidth * (Total / Count);  ///< from one pack of a thread to its next
  static_assert(Count % kWidth == 0 && Total % Count == 0, "whole packs, whole threads");
  __device__ static int place(int thread, int i) { return i / kWidth * kStep + thread * kWidth + i % kWidth; }

  __device__ __forceinline__ static void take(float (&own)[Count], const float* from, int thread) {
#pragma unroll
    for (int i = 0; i < Count; i += kWidth) {
      const Pack<kWidth> pack = load<kWidth>(from + place(thread, i));
#pragma unroll
      for (int v = 0; v < kWidth; ++v) own[i + v] = pack.value[v];
    }
  }
};

/// Two multiply-adds a task: z = x u - m u with u = 1 / sigma, and sum z^2. So that large inputs with small differences
/// keep their digits, both x and m are taken relative to the first rule's centre.
template <int BlockRows, int BlockRules, int ThreadRows, int ThreadRules, int Depth>
__global__ void __launch_bounds__((BlockRows / ThreadRows) * (BlockRules / ThreadRules))
    fire_rows(const float* rows, const float* centres, const float* widths, const PredictControl* control_at,
              float* log_firing, int stride, int capacity) {
  using OfRows = Packs<ThreadRows, BlockRows>;
  using OfRules = Packs<ThreadRules, BlockRules>;
  constexpr int kAcross = BlockRules / ThreadRules;
  constexpr int kThreads = BlockRows / ThreadRows * kAcross;
  constexpr int kUnroll = ThreadRows * ThreadRules < 64    ? 4
                          : ThreadRows * ThreadRules < 128 ? 2
                                                           : 1;  // more costs compile time and gains nothing
  static_assert(Depth % 4 == 0, "four inputs in one access");
  SharedMemory shared;
  float* x = shared.take<float>(Depth * BlockRows);
  float* inverse = shared.take<float>(Depth * BlockRules);
  float* scaled_centre = shared.take<float>(Depth * BlockRules);

  const PredictControl control = *control_at;
  const int thread = static_cast<int>(threadIdx.x);
  const int first_rule = static_cast<int>(blockIdx.x) * BlockRules;
  const int first_row = static_cast<int>(blockIdx.y) * BlockRows;
  if (first_row >= control.rows || first_rule >= control.rules) return;
  const int my_rule = thread % kAcross;
  const int my_row = thread / kAcross;

  float sum[ThreadRows][ThreadRules];
#pragma unroll
  for (int a = 0; a < ThreadRows; ++a) {
#pragma unroll
    for (int b = 0; b < ThreadRules; ++b) sum[a][b] = 0.0f;
  }
#pragma unroll 1
  for (int base = 0; base < stride; base += Depth) {
    // Neighbouring threads take neighbouring rows or rules, so that what they store lies in different banks.
#pragma unroll 2
    for (int i = thread; i < BlockRows * (Depth / 4); i += kThreads) {
      const int d = i / BlockRows * 4, j = base + d, row = first_row + i % BlockRows;
      Pack<4> own = filled<4>(0.0f);
      if (row < control.rows && j < stride) {
        own = load<4>(rows + static_cast<long long>(row) * stride + j);
        const Pack<4> origin = load<4>(centres + j);
#pragma unroll
        for (int v = 0; v < 4; ++v) own.value[v] -= origin.value[v];
      }
#pragma unroll
      for (int v = 0; v < 4; ++v) x[(d + v) * BlockRows + i % BlockRows] = own.value[v];
    }
#pragma unroll 2
    for (int i = thread; i < BlockRules * (Depth / 4); i += kThreads) {
      const int d = i / BlockRules * 4, j = base + d, rule = first_rule + i % BlockRules;
      Pack<4> u = filled<4>(0.0f), mu = filled<4>(0.0f);
      if (rule < control.rules && j < stride) {
        const long long at = static_cast<long long>(rule) * stride + j;
        const Pack<4> m = load<4>(centres + at), s = load<4>(widths + at), origin = load<4>(centres + j);
#pragma unroll
        for (int v = 0; v < 4; ++v) {
          u.value[v] = __fdividef(1.0f, s.value[v]);
          mu.value[v] = (m.value[v] - origin.value[v]) * u.value[v];
        }
      }
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        inverse[(d + v) * BlockRules + i % BlockRules] = u.value[v];
        scaled_centre[(d + v) * BlockRules + i % BlockRules] = mu.value[v];
      }
    }
    __syncthreads();
#pragma unroll kUnroll
    for (int d = 0; d < Depth; ++d) {
      float own_x[ThreadRows], own_inverse[ThreadRules], own_centre[ThreadRules];
      OfRows::take(own_x, x + d * BlockRows, my_row);
      OfRules::take(own_inverse, inverse + d * BlockRules, my_rule);
      OfRules::take(own_centre, scaled_centre + d * BlockRules, my_rule);
#pragma unroll
      for (int a = 0; a < ThreadRows; ++a) {
#pragma unroll
        for (int b = 0; b < ThreadRules; ++b) {
          const float z = own_x[a] * own_inverse[b] - own_centre[b];
          sum[a][b] += z * z;
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int a = 0; a < ThreadRows; ++a) {
    const int row = first_row + OfRows::place(my_row, a);
#pragma unroll
    for (int b = 0; b < ThreadRules; ++b) {
      const int rule = first_rule + OfRules::place(my_rule, b);
      if (row < control.rows && rule < control.rules) {
        log_firing[static_cast<long long>(row) * capacity + rule] = -sum[a][b];
      }
    }
  }
}

template <int Block>
__global__ void __launch_bounds__(Block)
    combine_rows(const float* log_firing, const float* consequents, const PredictControl* control_at, float* outputs_at,
                 int outputs, int capacity) {
  const PredictControl control = *control_at;
  const int row = static_cast<int>(blockIdx.x) * (Block / kWarp) + static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (row >= control.rows) return;
  const float* own = log_firing + static_cast<long long>(row) * capacity;
  float top = -infinity();
  for (int k = lane; k < control.rules; k += kWarp) top = fmaxf(top, own[k]);
  top = largest_over_warp(top);
  constexpr int kAtATime = 8;  // outputs for which a weight is used once it is there
  float inverse_sum = 0.0f;
#pragma unroll 1
  for (int base = 0; base < outputs; base += kAtATime) {
    float sum = 0.0f, weighted[kAtATime] = {};
#pragma unroll 2
    for (int k = lane; k < control.rules; k += kWarp) {
      const float weight = exp_below(own[k], top);
      sum += weight;
#pragma unroll
      for (int c = 0; c < kAtATime; ++c) {
        if (base + c < outputs) weighted[c] += weight * consequents[static_cast<long long>(base + c) * capacity + k];
      }
    }
    if (base == 0) inverse_sum = 1.0f / sum_over_lanes<kWarp>(sum);
#pragma unroll
    for (int c = 0; c < kAtATime; ++c) {
      weighted[c] = sum_over_lanes<kWarp>(weighted[c]);
      if (lane == 0 && base + c < outputs) {
        outputs_at[static_cast<long long>(row) * outputs + base + c] = weighted[c] * inverse_sum;
      }
    }
  }
}

}  // namespace heddle::sonfin
