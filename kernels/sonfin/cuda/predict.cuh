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

template <int BlockRows, int BlockRules, int ThreadRows, int ThreadRules, int Depth>
__global__ void __launch_bounds__((BlockRows / ThreadRows) * (BlockRules / ThreadRules))
    fire_rows(const float* rows, const float* centres, const float* widths, const PredictControl* control_at,
              float* log_firing, int stride, int capacity) {
  constexpr int kAcross = BlockRules / ThreadRules;
  constexpr int kThreads = BlockRows / ThreadRows * kAcross;
  constexpr int kUnroll = ThreadRows * ThreadRules < 64 ? 4 : 2;  // more costs compile time and gains nothing
  static_assert(BlockRows % ThreadRows == 0 && BlockRules % ThreadRules == 0, "whole threads");
  // A pad of one word a row keeps the transposed stores of neighbouring threads in different banks.
  constexpr int kRowPitch = BlockRows + 1;
  constexpr int kRulePitch = BlockRules + 1;
  SharedMemory shared;
  float* x = shared.take<float>(Depth * kRowPitch);
  float* centre = shared.take<float>(Depth * kRulePitch);
  float* inverse = shared.take<float>(Depth * kRulePitch);

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
  for (int base = 0; base < stride; base += Depth) {
#pragma unroll 2
    for (int i = thread; i < BlockRows * Depth; i += kThreads) {
      const int row = first_row + i / Depth, j = base + i % Depth;
      x[i % Depth * kRowPitch + i / Depth] =
          row < control.rows && j < stride ? rows[static_cast<long long>(row) * stride + j] : 0.0f;
    }
#pragma unroll 2
    for (int i = thread; i < BlockRules * Depth; i += kThreads) {
      const int rule = first_rule + i / Depth, j = base + i % Depth;
      const bool there = rule < control.rules && j < stride;
      const long long at = static_cast<long long>(rule) * stride + j;
      centre[i % Depth * kRulePitch + i / Depth] = there ? centres[at] : 0.0f;
      inverse[i % Depth * kRulePitch + i / Depth] = there ? __fdividef(1.0f, widths[at]) : 0.0f;
    }
    __syncthreads();
#pragma unroll kUnroll
    for (int d = 0; d < Depth; ++d) {
      float own_x[ThreadRows], own_centre[ThreadRules], own_inverse[ThreadRules];
#pragma unroll
      for (int a = 0; a < ThreadRows; ++a) own_x[a] = x[d * kRowPitch + my_row + a * (BlockRows / ThreadRows)];
#pragma unroll
      for (int b = 0; b < ThreadRules; ++b) {
        own_centre[b] = centre[d * kRulePitch + my_rule + b * kAcross];
        own_inverse[b] = inverse[d * kRulePitch + my_rule + b * kAcross];
      }
#pragma unroll
      for (int a = 0; a < ThreadRows; ++a) {
#pragma unroll
        for (int b = 0; b < ThreadRules; ++b) {
          const float z = (own_x[a] - own_centre[b]) * own_inverse[b];
          sum[a][b] += z * z;
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int a = 0; a < ThreadRows; ++a) {
    const int row = first_row + my_row + a * (BlockRows / ThreadRows);
#pragma unroll
    for (int b = 0; b < ThreadRules; ++b) {
      const int rule = first_rule + my_rule + b * kAcross;
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
  Leader leader = {-infinity(), 0x7fffffff};
  for (int k = lane; k < control.rules; k += kWarp) leader = ahead(leader, {own[k], k});
  leader = lead_over_warp(leader);
  float sum = 0.0f;
  for (int k = lane; k < control.rules; k += kWarp) sum += exp_below(own[k], leader.value);
  const float inverse_sum = 1.0f / sum_over_lanes<kWarp>(sum);
  for (int l = 0; l < outputs; ++l) {
    const float* w = consequents + static_cast<long long>(l) * capacity;
    float weighted = 0.0f;
    for (int k = lane; k < control.rules; k += kWarp) weighted += exp_below(own[k], leader.value) * w[k];
    weighted = sum_over_lanes<kWarp>(weighted);
    if (lane == 0) outputs_at[static_cast<long long>(row) * outputs + l] = weighted * inverse_sum;
  }
}

}  // namespace heddle::sonfin
