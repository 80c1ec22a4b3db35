// What follows the sums over the rows: the sums of all parts, the solution of the normal equations, and the step.
#pragma once

#include "heddle/kernels/tsk/cuda/passes.cuh"

namespace heddle::tsk {

/// Sums over `parts` arrays, `stride` elements apart, of one element for each lane of a warp; the warps of a block
/// share the parts. Every thread of warp 0 leaves with its element's sum. `words`: kBlock doubles of shared memory.
template <int Block, class T>
__device__ __forceinline__ double sum_of_parts(const T* element, long long stride, int parts, double* words) {
  constexpr int kWarps = Block / kWarp;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  double sum = 0.0;
  if (element != nullptr) {
#pragma unroll 4
    for (int p = warp; p < parts; p += kWarps) sum += static_cast<double>(element[p * stride]);
  }
  words[thread] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = 0.0;
#pragma unroll 8
    for (int w = 0; w < kWarps; ++w) sum += words[w * kWarp + lane];
  }
  __syncthreads();
  return sum;
}

/// gram[A][pitch], lower triangle, from what accumulate() left in `parts` parts.
template <int Block, int Side>
__device__ __forceinline__ void gather_gram(const Batch& batch, const double* partial, int parts, double* gram,
                                            int pitch, Pieces pieces, Share share) {
  double* words = pieces.doubles(Block);
  const int sides = (batch.columns() + Side - 1) / Side;
  const long long elements = static_cast<long long>(sides) * (sides + 1) / 2 * Side * Side;
  for (long long base = static_cast<long long>(share.block) * kWarp; base < elements;
       base += static_cast<long long>(share.blocks) * kWarp) {
    const long long e = base + static_cast<int>(threadIdx.x) % kWarp;
    const double sum = sum_of_parts<Block>(e < elements ? partial + e : nullptr, elements, parts, words);
    if (static_cast<int>(threadIdx.x) < kWarp && e < elements) {
      const int pair = static_cast<int>(e / (Side * Side)), place = static_cast<int>(e % (Side * Side));
      const int i = square_row(pair), j = pair - i * (i + 1) / 2;
      const int row = i * Side + place / Side, column = j * Side + place % Side;
      if (row < batch.columns() && column <= row) gram[static_cast<long long>(row) * pitch + column] = sum;
    }
  }
}

/// theta from the normal equations by a factorisation L D L^T in shared memory; one block. The rows of Y below those of
/// Phi go through the elimination with them, which is the forward substitution. Where Phi is rank deficient, again with
/// a ridge.
template <int Block>
__device__ __forceinline__ void solve(const Batch& batch, const double* gram, int pitch, double ridge, double* solution,
                                      int* info, Pieces pieces) {
  constexpr int kWarps = Block / kWarp;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int unknowns = batch.unknowns(), columns = batch.columns();
  const int own_pitch = unknowns | 1;
  double* a = pieces.doubles(columns * own_pitch);
  double* inverse = pieces.doubles(unknowns);

  double largest = 0.0;
  bool sound = true;
  int result = kNoSolution;
  for (int attempt = 0; attempt < 2 && sound && result == kNoSolution; ++attempt) {
    const double asked = attempt == 0 || ridge > kOwnRidge ? ridge : kOwnRidge;
    for (int i = warp; i < columns; i += kWarps) {
      for (int j = lane; j < unknowns && j <= i; j += kWarp) {
        a[i * own_pitch + j] = gram[static_cast<long long>(i) * pitch + j];
      }
    }
    __syncthreads();
    if (attempt == 0) {
      int finite = 1;
      for (int i = lane; i < unknowns; i += kWarp) {
        const double element = a[i * own_pitch + i];
        finite = finite != 0 && is_finite(element) ? 1 : 0;
        largest = element > largest ? element : largest;
      }
#pragma unroll
      for (int offset = kWarp / 2; offset > 0; offset /= 2) {
        const double other = __shfl_xor_sync(kAllLanes, largest, offset);
        largest = other > largest ? other : largest;
        finite &= __shfl_xor_sync(kAllLanes, finite, offset);
      }
      sound = finite != 0;
    }
    __syncthreads();  // every warp has looked at the diagonal before it changes
    if (asked > 0.0) {
      for (int i = thread; i < unknowns; i += Block) a[i * own_pitch + i] += asked * largest;
      __syncthreads();
    }
    bool full_rank = true;
    for (int j = 0; j < unknowns; ++j) {
      const double pivot = a[j * own_pitch + j];
      full_rank = pivot > kRankTolerance * largest;
      if (!full_rank) break;
      const double reciprocal = 1.0 / pivot;
      if (thread == 0) inverse[j] = reciprocal;
      for (int i = j + 1 + warp; i < columns; i += kWarps) {
        const double factor = a[i * own_pitch + j] * reciprocal;
        for (int k = j + 1 + lane; k < unknowns && k <= i; k += kWarp) {
          a[i * own_pitch + k] -= factor * a[k * own_pitch + j];
        }
      }
      __syncthreads();
    }
    __syncthreads();
    if (full_rank) result = attempt == 0 ? kSolved : kOwnRidgeTaken;
  }
  if (sound && largest == 0.0) {  // no rule has an activation anywhere: nothing to say
    for (int i = thread; i < unknowns * batch.outputs; i += Block) solution[i] = 0.0;
    result = kOwnRidgeTaken;
  } else if (result != kNoSolution) {
    // L^T theta = D^-1 z, a warp for an output; z, in a row of Y, becomes theta.
    for (int l = warp; l < batch.outputs; l += kWarps) {
      double* z = a + (unknowns + l) * own_pitch;
      for (int j = unknowns - 1; j >= 0; --j) {
        const double theta = z[j] * inverse[j];
        __syncwarp();
        for (int i = lane; i < j; i += kWarp) z[i] -= a[j * own_pitch + i] * theta;
        if (lane == 0) solution[j * batch.outputs + l] = theta;
        __syncwarp();
      }
    }
  }
  if (thread == 0) *info = result;
  __syncthreads();
}

/// Writes the gradient, 2 K D, by centres and then by widths, the errors after it, and of every block the sum of the
/// squares of its part of the gradient. Element base + lane of block b: see `share`.
template <int Block, class T>
__device__ __forceinline__ void gather_slopes(const Batch& batch, const T* partial, int parts, const float* widths,
                                              const Control& control, double* gradient, double* squares, Pieces pieces,
                                              Share share) {
  double* words = pieces.doubles(Block);
  const int tasks = batch.tasks(), elements = 2 * tasks + 2;
  double own = 0.0;
  for (int base = share.block * kWarp; base < elements; base += share.blocks * kWarp) {
    const int e = base + static_cast<int>(threadIdx.x) % kWarp;
    double sum = sum_of_parts<Block>(e < elements ? partial + e : nullptr, elements, parts, words);
    if (static_cast<int>(threadIdx.x) < kWarp && e < elements) {
      if (e < 2 * tasks) {
        sum *= 2.0 / (static_cast<double>(control.rows) * static_cast<double>(widths[e < tasks ? e : e - tasks]));
        own += sum * sum;
      } else if (e == 2 * tasks) {
        sum /= static_cast<double>(control.rows);
      } else {
        sum /= static_cast<double>(control.held_back > 0 ? control.held_back : 1);
      }
      gradient[e] = sum;
    }
  }
  if (static_cast<int>(threadIdx.x) < kWarp) {
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) own += __shfl_xor_sync(kAllLanes, own, offset);
    if (threadIdx.x == 0) squares[share.block] = own;
  }
  __syncthreads();
}

/// The parameters of a system.
struct Parameters {
  float *centres, *widths, *consequents;
};

/// Bookkeeping of the iteration, by every block alike, and the step of this share. `before`: the progress at its
/// beginning; block 0 writes the progress after it.
template <int Block>
__device__ __forceinline__ void step(const Batch& batch, const Parameters& now, const Parameters& best,
                                     const double* solution, const int* info, const double* gradient,
                                     const double* squares, int square_count, const Control& control,
                                     const Progress& before, Progress* progress_at, double* errors, int slots,
                                     Pieces pieces, Share share) {
  double* words = pieces.doubles(Block);
  const int thread = static_cast<int>(threadIdx.x);
  double own = 0.0;
  for (int i = thread; i < square_count; i += Block) own += squares[i];
  words[thread] = own;
  __syncthreads();
  for (int half = Block / 2; half > 0; half /= 2) {
    if (thread < half) words[thread] += words[thread + half];
    __syncthreads();
  }
  const double length = sqrt(words[0]);
  const int tasks = batch.tasks();
  const double error = *info == kNoSolution ? __longlong_as_double(0x7ff8000000000000ll) : gradient[2 * tasks];
  const double held_back = control.held_back > 0 ? gradient[2 * tasks + 1] : 0.0;
  Progress after = before;
  const bool is_best = count_iteration(control, after, error, held_back, *info == kOwnRidgeTaken);
  if (share.block == 0 && thread == 0) {
    if (after.halted != kDiverged) {
      errors[2 * (before.iteration % slots)] = error;
      errors[2 * (before.iteration % slots) + 1] = held_back;
    }
    *progress_at = after;
  }
  if (after.halted == kDiverged) return;
  const double factor = control.plain_step != 0 ? static_cast<double>(control.rate)
                        : length > 0.0          ? before.step / length
                                                : 0.0;
  const long long first = static_cast<long long>(share.block) * Block + thread;
  const long long stride = static_cast<long long>(share.blocks) * Block;
  for (long long i = first; i < tasks; i += stride) {
    const float centre = now.centres[i], width = now.widths[i];
    if (is_best) {
      best.centres[i] = centre;
      best.widths[i] = width;
    }
    now.centres[i] = centre - static_cast<float>(factor * gradient[i]);
    now.widths[i] = no_smaller(width - static_cast<float>(factor * gradient[tasks + i]), control.minimum_width);
  }
  const long long numbers = static_cast<long long>(batch.unknowns()) * batch.outputs;
  for (long long i = first; i < numbers; i += stride) {
    const float theta = static_cast<float>(solution[i]);
    now.consequents[i] = theta;
    if (is_best) best.consequents[i] = theta;
  }
}

}  // namespace heddle::tsk
