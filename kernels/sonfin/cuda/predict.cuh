// Outputs of a SONFIN for many rows. Formulas: docs/design.md, "The network".
//
//   prepare_rules  1 / sigma and m / sigma of all rules, input after input: a warp per rule
//   fire_rows      log firing of all rules for all rows: a tile of rows x rules per block, as a matrix product is tiled
//   combine_rows   normalises the firing of one row and sums the consequents: a warp per row
//
// A task takes two multiply-adds: z = x (1 / sigma) - m / sigma, and the sum of z^2. Where m / sigma is so large that
// its rounding would show, a tile takes three operations: z = (x - m) (1 / sigma).
//
// | parameter | meaning |
// |---|---|
// | BlockRows, BlockRules   | tile of one block |
// | ThreadRows, ThreadRules | part of it that one thread keeps in registers (coarsening over rows and rules) |
// | Depth                   | inputs that are in shared memory at a time; the next ones arrive meanwhile |
// | Block, Outputs          | threads of a block of combine_rows, and outputs that it sums at a time |
//
// Layout: rows, centres and widths are rows of `stride` floats; consequents lie output after output, w_kl at
// l * capacity + k; log_firing is rows x capacity; outputs rows x L without padding. Prepared rules: three matrices
// (1 / sigma, m / sigma, m) of `depth` rows of `pitch` rules, where depth is the stride rounded up to Depth and pitch
// the capacity rounded up to BlockRules; what is not there is 0.
#pragma once

#include "heddle/kernels/common/memory.cuh"
#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/sonfin/control.cuh"

namespace heddle::sonfin {

/// Largest |m / sigma| of a rule that may be rounded: 4096 * 2^-24 is 2e-4 of a width.
constexpr float kLargestQuotient = 4096.0f;

/// Grid: a warp for each of `pitch` rules. `quotients`: the largest |m / sigma| of each rule.
template <int Block>
__global__ void __launch_bounds__(Block)
    prepare_rules(const float* centres, const float* widths, const PredictControl* control_at, float* prepared,
                  float* quotients, int stride, int depth, int pitch) {
  const int rule = (static_cast<int>(blockIdx.x) * Block + static_cast<int>(threadIdx.x)) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (rule >= pitch) return;
  const bool lives = rule < control_at->rules;
  const long long plane = static_cast<long long>(depth) * pitch;
  float largest = 0.0f;
  for (int j = lane; j < depth; j += kWarp) {
    const bool there = lives && j < stride;
    const long long from = static_cast<long long>(rule) * stride + j, to = static_cast<long long>(j) * pitch + rule;
    const float m = there ? centres[from] : 0.0f;
    const float u = there ? __frcp_rn(widths[from]) : 0.0f;
    prepared[to] = u;
    prepared[plane + to] = m * u;
    prepared[2 * plane + to] = m;
    largest = fmaxf(largest, fabsf(m * u));
  }
  largest = largest_over_warp(largest);
  if (lane == 0) quotients[rule] = largest;
}

/// The rows and rules of one step in shared memory.
template <int BlockRows, int BlockRules, int Depth, int Threads>
struct Stage {
  static constexpr int kRowPitch = Depth + 4;  // neighbouring rows start in different banks
  static constexpr int kWords = BlockRows * kRowPitch + 2 * Depth * BlockRules;
  float* x;        ///< [BlockRows][kRowPitch]
  float* inverse;  ///< [Depth][BlockRules]
  float* centre;   ///< [Depth][BlockRules]: m / sigma, or m

  __device__ __forceinline__ explicit Stage(float* at)
      : x(at), inverse(at + BlockRows * kRowPitch), centre(inverse + Depth * BlockRules) {}

  /// Rows and inputs beyond the last repeat it: their rules have weight 0, or nobody asks for the result.
  __device__ __forceinline__ void request(const float* rows, const float* inverses, const float* centres, int first_row,
                                          int last_row, int first_rule, int base, int stride, int pitch) const {
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll 4
    for (int i = thread; i < BlockRows * (Depth / 4); i += Threads) {
      const int row = i / (Depth / 4), d = i % (Depth / 4) * 4;
      const int from_row = first_row + row < last_row ? first_row + row : last_row;
      const int j = base + d < stride ? base + d : stride - 4;
      start_copy<4>(x + row * kRowPitch + d, rows + static_cast<long long>(from_row) * stride + j);
    }
#pragma unroll 2
    for (int i = thread; i < Depth * (BlockRules / 4); i += Threads) {
      const int d = i / (BlockRules / 4), k = i % (BlockRules / 4) * 4;
      const long long from = static_cast<long long>(base + d) * pitch + first_rule + k;
      start_copy<4>(inverse + d * BlockRules + k, inverses + from);
      start_copy<4>(centre + d * BlockRules + k, centres + from);
    }
  }
};

/// Of the rules of a tile, those of one thread: packs of neighbours.
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

/// Adds z^2 of one step's inputs to the sums of this thread's rows and rules.
template <bool Exact, int BlockRows, int BlockRules, int ThreadRows, int ThreadRules, int Depth, class StageOf>
__device__ __forceinline__ void add_squares(float (&sum)[ThreadRows][ThreadRules], const StageOf& stage, int my_row,
                                            int my_rule) {
  using OfRules = Packs<ThreadRules, BlockRules>;
  constexpr int kDown = BlockRows / ThreadRows;
#pragma unroll 1
  for (int base = 0; base < Depth; base += 4) {
    Pack<4> x[ThreadRows];
#pragma unroll
    for (int a = 0; a < ThreadRows; ++a) x[a] = load<4>(stage.x + (my_row + a * kDown) * StageOf::kRowPitch + base);
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      float inverse[ThreadRules], centre[ThreadRules];
      OfRules::take(inverse, stage.inverse + (base + v) * BlockRules, my_rule);
      OfRules::take(centre, stage.centre + (base + v) * BlockRules, my_rule);
#pragma unroll
      for (int a = 0; a < ThreadRows; ++a) {
#pragma unroll
        for (int b = 0; b < ThreadRules; ++b) {
          const float z = Exact ? (x[a].value[v] - centre[b]) * inverse[b] : x[a].value[v] * inverse[b] - centre[b];
          sum[a][b] += z * z;
        }
      }
    }
  }
}

template <int BlockRows, int BlockRules, int ThreadRows, int ThreadRules, int Depth>
__global__ void __launch_bounds__((BlockRows / ThreadRows) * (BlockRules / ThreadRules))
    fire_rows(const float* rows, const float* prepared, const float* quotients, const PredictControl* control_at,
              float* log_firing, int stride, int depth, int pitch, int capacity) {
  constexpr int kAcross = BlockRules / ThreadRules;
  constexpr int kDown = BlockRows / ThreadRows;
  constexpr int kThreads = kDown * kAcross;
  using StageOf = Stage<BlockRows, BlockRules, Depth, kThreads>;
  static_assert(Depth % 4 == 0, "four inputs in one access");
  SharedMemory shared;
  float* const memory = shared.take<float>(2 * StageOf::kWords);

  const PredictControl control = *control_at;
  const int thread = static_cast<int>(threadIdx.x);
  const int first_rule = static_cast<int>(blockIdx.x) * BlockRules;
  const int first_row = static_cast<int>(blockIdx.y) * BlockRows;
  if (first_row >= control.rows || first_rule >= control.rules) return;
  const int my_rule = thread % kAcross;
  const int my_row = thread / kAcross;

  bool large = false;
  for (int b = thread; b < BlockRules; b += kThreads) large = large || !(quotients[first_rule + b] <= kLargestQuotient);
  const bool exact = __syncthreads_or(large) != 0;
  const long long plane = static_cast<long long>(depth) * pitch;
  const float* const centres = prepared + (exact ? 2 : 1) * plane;
  const auto request = [&](int base) {
    StageOf(memory + (base / Depth & 1) * StageOf::kWords)
        .request(rows, prepared, centres, first_row, control.rows - 1, first_rule, base, stride, pitch);
  };

  float sum[ThreadRows][ThreadRules];
#pragma unroll
  for (int a = 0; a < ThreadRows; ++a) {
#pragma unroll
    for (int b = 0; b < ThreadRules; ++b) sum[a][b] = 0.0f;
  }
  request(0);
#pragma unroll 1
  for (int base = 0; base < depth; base += Depth) {
    copies_arrived();
    __syncthreads();
    if (base + Depth < depth) request(base + Depth);
    const StageOf stage(memory + (base / Depth & 1) * StageOf::kWords);
    if (exact) {
      add_squares<true, BlockRows, BlockRules, ThreadRows, ThreadRules, Depth>(sum, stage, my_row, my_rule);
    } else {
      add_squares<false, BlockRows, BlockRules, ThreadRows, ThreadRules, Depth>(sum, stage, my_row, my_rule);
    }
  }
#pragma unroll
  for (int a = 0; a < ThreadRows; ++a) {
    const int row = first_row + my_row + a * kDown;
#pragma unroll
    for (int b = 0; b < ThreadRules; ++b) {
      const int rule = first_rule + Packs<ThreadRules, BlockRules>::place(my_rule, b);
      if (row < control.rows && rule < control.rules) {
        log_firing[static_cast<long long>(row) * capacity + rule] = -sum[a][b];
      }
    }
  }
}

template <int Block, int Outputs>
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
  float inverse_sum = 0.0f;
#pragma unroll 1
  for (int base = 0; base < outputs; base += Outputs) {
    float sum = 0.0f, weighted[Outputs] = {};
#pragma unroll 1
    for (int k = lane; k < control.rules; k += kWarp) {
      const float weight = exp_below(own[k], top);
      sum += weight;
#pragma unroll
      for (int c = 0; c < Outputs; ++c) {
        if (base + c < outputs) weighted[c] += weight * consequents[(base + c) * capacity + k];
      }
    }
    if (base == 0) inverse_sum = 1.0f / sum_over_lanes<kWarp>(sum);
#pragma unroll
    for (int c = 0; c < Outputs; ++c) {
      weighted[c] = sum_over_lanes<kWarp>(weighted[c]);
      if (lane == 0 && base + c < outputs) {
        outputs_at[static_cast<long long>(row) * outputs + base + c] = weighted[c] * inverse_sum;
      }
    }
  }
}

}  // namespace heddle::sonfin
