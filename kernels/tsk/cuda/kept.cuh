// The two passes over the rows with activations that are kept in memory: for more rules or inputs than a block's shared
// memory holds. fire_kept computes twice the log activations of here; it asks nothing of the alignment of rows.
//
// | parameter | meaning |
// |---|---|
// | Block | threads of a block |
// | Depth | rows of a tile in shared memory |
//
// A launch does the rows first_row, ..., end_of_piece - 1. Where `adds` is not 0, its sums are added to what is there.
//
// | buffer | contents |
// |---|---|
// | kept | [N][K] floats: log activations, then activations, then half the gradient of the squared error by them |
#pragma once

#include "heddle/kernels/common/memory.cuh"
#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/tsk/cuda/kept_sizes.cuh"
#include "heddle/kernels/tsk/cuda/tile.cuh"

namespace heddle::tsk {

/// -sum ((x - m) / sigma)^2 of all rules for all rows: a tile of rows x rules per block, of which a thread keeps a part
/// in registers; Depth inputs are in shared memory at a time.
template <int BlockRows, int BlockRules, int ThreadRows, int ThreadRules, int Depth>
__global__ void __launch_bounds__(FireTile{BlockRows, BlockRules, ThreadRows, ThreadRules, Depth}.threads())
    fire_kept(const float* rows, const float* centres, const float* widths, const sonfin::PredictControl* control_at,
              float* log_firing, int stride, int capacity, int first, int end) {
  constexpr FireTile kFire{BlockRows, BlockRules, ThreadRows, ThreadRules, Depth};
  constexpr int kAcross = kFire.across(), kThreads = kFire.threads();
  constexpr int kUnroll = ThreadRows * ThreadRules < 64 ? 4 : 2;  // more costs compile time and gains nothing
  static_assert(BlockRows % ThreadRows == 0 && BlockRules % ThreadRules == 0, "whole threads");
  constexpr int kRowPitch = kFire.row_pitch(), kRulePitch = kFire.rule_pitch();
  SharedMemory shared;
  float* x = shared.take<float>(Depth * kRowPitch);
  float* centre = shared.take<float>(Depth * kRulePitch);
  float* inverse = shared.take<float>(Depth * kRulePitch);

  const sonfin::PredictControl control = *control_at;
  const int thread = static_cast<int>(threadIdx.x);
  const int first_rule = static_cast<int>(blockIdx.x) * BlockRules;
  const int first_row = first + static_cast<int>(blockIdx.y) * BlockRows;
  const int rows_end = control.rows < end ? control.rows : end;
  if (first_row >= rows_end || first_rule >= control.rules) return;
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
          row < rows_end && j < stride ? rows[static_cast<long long>(row) * stride + j] : 0.0f;
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
      if (row < rows_end && rule < control.rules) {
        log_firing[static_cast<long long>(row) * capacity + rule] = -sum[a][b];
      }
    }
  }
}

/// Log activations to activations; a warp for a row.
template <int Block>
__global__ void __launch_bounds__(Block)
    normalise_rows(float* kept, const Control* control_at, const Progress* progress, Progress* before, int rules,
                   int first, int end_of_piece) {
  constexpr int kWarps = Block / kWarp;
  let_next_launch_start();
  wait_for_previous_launch();
  const Control control = *control_at;
  const Progress now = *progress;
  if (blockIdx.x == 0 && threadIdx.x == 0) *before = now;
  if (!goes_on(control, now)) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const long long end = Batch{{0, 0, rules, 1}, nullptr, nullptr, first, end_of_piece}.rows_end(control);
  for (long long row = first + static_cast<long long>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp;
       row < end; row += static_cast<long long>(gridDim.x) * kWarps) {
    float* own = kept + row * rules;
    float top = -infinity();
    for (int k = lane; k < rules; k += kWarp) top = fmaxf(top, own[k]);
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, offset));
    float sum = 0.0f;
    for (int k = lane; k < rules; k += kWarp) {
      const float weight = exp_below(0.5f * own[k], 0.5f * top);
      own[k] = weight;
      sum += weight;
    }
    const float scale = 1.0f / sum_over_lanes<kWarp>(sum);
    for (int k = lane; k < rules; k += kWarp) own[k] *= scale;
  }
}

/// Column c of Phi and then Y in a row; 0 behind the last.
__device__ __forceinline__ double column_value(const Batch& batch, const float* kept, long long row, int c) {
  if (c < batch.unknowns()) {
    const int k = c / batch.terms, t = c % batch.terms;
    const double value = static_cast<double>(kept[row * batch.rules + k]);
    return t == 0 ? value : value * static_cast<double>(batch.rows[row * batch.dim + t - 1]);
  }
  const int l = c - batch.unknowns();
  return l < batch.outputs ? static_cast<double>(batch.targets[row * batch.outputs + l]) : 0.0;
}

/// products[part][pair][kTile * kTile]: block x takes one square of the lower triangle, block y a part of the rows.
template <int Depth>
__global__ void __launch_bounds__(kTileBlock)
    multiply_kept(const float* rows, const float* targets, const float* kept, const Control* control_at,
                  const Progress* before, double* products, int dim, int outputs, int rules, int terms, int first_row,
                  int end_of_piece, int adds) {
  constexpr MultiplyPieces kPieces(Depth);
  constexpr int kAcross = kTile / kTileSide;
  let_next_launch_start();
  wait_for_previous_launch();
  const Control control = *control_at;
  if (!goes_on(control, *before)) return;
  const Batch batch{{dim, outputs, rules, terms}, rows, targets, first_row, end_of_piece};
  const long long end = batch.learnt_end(control);
  Pieces pieces(kPieces.words());
  double* left = pieces.doubles(kPieces.side);
  double* right = pieces.doubles(kPieces.side);
  const int thread = static_cast<int>(threadIdx.x);
  const int pair = static_cast<int>(blockIdx.x);
  const int i = square_row(pair), j = pair - triangle(i);
  double sum[kTileSide][kTileSide];
#pragma unroll
  for (int r = 0; r < kTileSide; ++r) {
#pragma unroll
    for (int s = 0; s < kTileSide; ++s) sum[r][s] = 0.0;
  }
  for (long long first = first_row + static_cast<long long>(blockIdx.y) * Depth; first < end;
       first += static_cast<long long>(gridDim.y) * Depth) {
    for (int e = thread; e < Depth * kTile; e += kTileBlock) {
      const int r = e / kTile, c = e % kTile;
      const bool there = first + r < end;
      left[r * kTilePitch + c] = there ? column_value(batch, kept, first + r, i * kTile + c) : 0.0;
      right[r * kTilePitch + c] = there ? column_value(batch, kept, first + r, j * kTile + c) : 0.0;
    }
    __syncthreads();
#pragma unroll 4
    for (int r = 0; r < Depth; ++r) {
      double a[kTileSide], b[kTileSide];
#pragma unroll
      for (int s = 0; s < kTileSide; ++s) a[s] = left[r * kTilePitch + thread / kAcross + s * kAcross];
#pragma unroll
      for (int s = 0; s < kTileSide; ++s) b[s] = right[r * kTilePitch + thread % kAcross + s * kAcross];
#pragma unroll
      for (int s = 0; s < kTileSide; ++s) {
#pragma unroll
        for (int t = 0; t < kTileSide; ++t) sum[s][t] += a[s] * b[t];
      }
    }
    __syncthreads();
  }
  double* to = products + (static_cast<long long>(blockIdx.y) * gridDim.x + pair) * (kTile * kTile);
#pragma unroll
  for (int s = 0; s < kTileSide; ++s) {
#pragma unroll
    for (int t = 0; t < kTileSide; ++t) {
      double* element = to + (thread / kAcross + s * kAcross) * kTile + thread % kAcross + t * kAcross;
      *element = adds == 0 ? sum[s][t] : *element + sum[s][t];
    }
  }
}

/// Phi and Y as columns of doubles, `pitch` apart, for a library.
template <int Block>
__global__ void __launch_bounds__(Block)
    lay_out_columns(const float* rows, const float* targets, const float* kept, const Control* control_at,
                    const Progress* before, double* columns, int dim, int outputs, int rules, int terms, int pitch) {
  let_next_launch_start();
  wait_for_previous_launch();
  const Control control = *control_at;
  if (!goes_on(control, *before)) return;
  const Batch batch{{dim, outputs, rules, terms}, rows, targets};
  const long long elements = static_cast<long long>(batch.columns()) * pitch;
  for (long long e = static_cast<long long>(blockIdx.x) * Block + threadIdx.x; e < elements;
       e += static_cast<long long>(gridDim.x) * Block) {
    const long long row = e % pitch;
    columns[e] = row < control.rows ? column_value(batch, kept, row, static_cast<int>(e / pitch)) : 0.0;
  }
}

/// Outputs and errors, a warp for a row; activations become half the gradient of the squared error by their logarithms.
/// slopes[part][2 K D], and the number after it: the squared errors of the rows learnt and held back.
template <int Block>
__global__ void __launch_bounds__(Block)
    compare_kept(const float* rows, const float* targets, float* kept, const Control* control_at,
                 const Progress* before, const double* solution, double* slopes, int dim, int outputs, int rules,
                 int terms, int first_row, int end_of_piece, int adds) {
  constexpr int kWarps = Block / kWarp;
  let_next_launch_start();
  wait_for_previous_launch();
  const Control control = *control_at;
  if (!goes_on(control, *before)) return;
  const Batch batch{{dim, outputs, rules, terms}, rows, targets, first_row, end_of_piece};
  const ComparePieces<int> of(kWarps, outputs);
  Pieces pieces(of.words());
  double* squares = pieces.doubles(of.squares);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  float* errors = pieces.floats(of.outputs) + warp * outputs;
  float* averages = pieces.floats(of.outputs) + warp * outputs;
  double learnt_squares = 0.0, held_back_squares = 0.0;
  const long long end = batch.rows_end(control);
  for (long long row = first_row + static_cast<long long>(blockIdx.x) * kWarps + warp; row < end;
       row += static_cast<long long>(gridDim.x) * kWarps) {
    const float* x = rows + row * dim;
    float* own = kept + row * rules;
    const auto consequent = [&](int k, int l) {
      const double* theta = solution + static_cast<long long>(k) * terms * outputs + l;
      float value = static_cast<float>(theta[0]);
      for (int t = 1; t < terms; ++t)
        value += static_cast<float>(theta[static_cast<long long>(t) * outputs]) * x[t - 1];
      return value;
    };
    const bool learnt = row < control.rows;
    for (int l = 0; l < outputs; ++l) {
      float sum = 0.0f;
      for (int k = lane; k < rules; k += kWarp) sum += own[k] * consequent(k, l);
      sum = sum_over_lanes<kWarp>(sum);
      const float error = sum - targets[row * outputs + l];
      (learnt ? learnt_squares : held_back_squares) += static_cast<double>(error) * static_cast<double>(error);
      if (lane == 0) {
        averages[l] = sum;
        errors[l] = learnt ? error : 0.0f;
      }
    }
    __syncwarp();
    for (int k = lane; k < rules; k += kWarp) {
      float sum = 0.0f;
      for (int l = 0; l < outputs; ++l) sum += errors[l] * (consequent(k, l) - averages[l]);
      own[k] *= sum;
    }
    __syncwarp();
  }
  if (lane == 0) {
    squares[2 * warp] = learnt_squares;
    squares[2 * warp + 1] = held_back_squares;
  }
  __syncthreads();
  if (threadIdx.x < 2) {
    const long long tasks = batch.tasks();
    double* to = slopes + blockIdx.x * (2 * tasks + 2) + 2 * tasks + static_cast<int>(threadIdx.x);
    double sum = adds == 0 ? 0.0 : *to;
    for (int w = 0; w < kWarps; ++w) sum += squares[2 * w + static_cast<int>(threadIdx.x)];
    *to = sum;
  }
}

/// Sums over a part of the rows, block y, for a tile of rules x inputs, block x; `across`: inputs of a tile, a power of
/// two up to Block.
template <int Block, int Depth>
__global__ void __launch_bounds__(Block)
    slopes_kept(const float* rows, const float* kept, const float* centres, const float* widths,
                const Control* control_at, const Progress* before, double* slopes, int dim, int rules, int across,
                int first_row, int end_of_piece, int adds) {
  let_next_launch_start();
  wait_for_previous_launch();
  const Control control = *control_at;
  if (!goes_on(control, *before)) return;
  SharedMemory shared;
  const SlopesTile of(Block, across, Depth);
  const int down = of.down;
  float* g = shared.take<float>(of.rules);
  float* x = shared.take<float>(of.inputs);
  const int thread = static_cast<int>(threadIdx.x);
  const int tiles_across = (dim + across - 1) / across;
  const int first_k = static_cast<int>(blockIdx.x) / tiles_across * down;
  const int first_j = static_cast<int>(blockIdx.x) % tiles_across * across;
  const int k = first_k + thread / across, j = first_j + thread % across;
  const bool there = k < rules && j < dim;
  const long long task = static_cast<long long>(k) * dim + j, tasks = static_cast<long long>(rules) * dim;
  const float centre = there ? centres[task] : 0.0f;
  const float inverse = there ? 1.0f / widths[task] : 0.0f;
  double by_centre = 0.0, by_width = 0.0;
  const long long end = control.rows < end_of_piece ? control.rows : end_of_piece;
  for (long long first = first_row + static_cast<long long>(blockIdx.y) * Depth; first < end;
       first += static_cast<long long>(gridDim.y) * Depth) {
    for (int e = thread; e < of.rules; e += Block) {
      const long long row = first + e / down;
      const int rule = first_k + e % down;
      g[e] = row < end && rule < rules ? kept[row * rules + rule] : 0.0f;
    }
    for (int e = thread; e < of.inputs; e += Block) {
      const long long row = first + e / across;
      const int input = first_j + e % across;
      x[e] = row < end && input < dim ? rows[row * dim + input] : 0.0f;
    }
    __syncthreads();
    float centre_part = 0.0f, width_part = 0.0f;
#pragma unroll 8
    for (int r = 0; r < Depth; ++r) {
      const float u = (x[r * across + thread % across] - centre) * inverse;
      const float change = g[r * down + thread / across] * u;
      centre_part += change;
      width_part += change * u;
    }
    by_centre += static_cast<double>(centre_part);
    by_width += static_cast<double>(width_part);
    __syncthreads();
  }
  if (there) {
    double* part = slopes + static_cast<long long>(blockIdx.y) * (2 * tasks + 2);
    part[task] = adds == 0 ? by_centre : part[task] + by_centre;
    part[tasks + task] = adds == 0 ? by_width : part[tasks + task] + by_width;
  }
}

}  // namespace heddle::tsk
