// The work after the sums over the rows: adding the sums of all parts, solving the normal equations, and the step.
#pragma once

#include "heddle/kernels/tsk/cuda/passes.cuh"

namespace heddle::tsk {

/// Sums over `parts` arrays, `stride` elements apart, of one element for each lane of a warp; the warps of a block
/// share the parts. Every thread of warp 0 leaves with its element's sum. `words`: see SumPieces.
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

/// The sum over a warp; every lane gets it.
__device__ __forceinline__ double sum_over_warp(double value) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}

/// gram[A][pitch], lower triangle, from what accumulate() left in `parts` parts.
template <int Block, int Side>
__device__ __forceinline__ void gather_gram(const Batch& batch, const double* partial, int parts, double* gram,
                                            int pitch, Pieces pieces, Share share) {
  double* words = pieces.doubles(SumPieces<int>(Block).parts);
  const long long elements = elements_of_squares<long long>(batch.sides(Side), Side);
  for (long long base = static_cast<long long>(share.block) * kWarp; base < elements;
       base += static_cast<long long>(share.blocks) * kWarp) {
    const long long e = base + static_cast<int>(threadIdx.x) % kWarp;
    const double sum = sum_of_parts<Block>(e < elements ? partial + e : nullptr, elements, parts, words);
    if (static_cast<int>(threadIdx.x) < kWarp && e < elements) {
      const int pair = static_cast<int>(e / (Side * Side)), place = static_cast<int>(e % (Side * Side));
      const int i = square_row(pair), j = pair - triangle(i);
      const int row = i * Side + place / Side, column = j * Side + place % Side;
      if (row < batch.columns() && column <= row) gram[static_cast<long long>(row) * pitch + column] = sum;
    }
  }
}

/// The attempts to solve the normal equations, the same for every solver: first with the given ridge; if Phi is rank
/// deficient, again with kOwnRidge if that is larger.
class Attempts {
 public:
  /// `diagonal(i)`: of Phi^T Phi. The whole warp, and every lane gets the same.
  template <class Diagonal>
  __device__ __forceinline__ Attempts(int unknowns, double ridge, const Diagonal& diagonal) : ridge_(ridge) {
    int finite = 1;
    for (int i = static_cast<int>(threadIdx.x) % kWarp; i < unknowns; i += kWarp) {
      const double element = diagonal(i);
      finite = finite != 0 && is_finite(element) ? 1 : 0;
      largest_ = max(element, largest_);
    }
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
      largest_ = max(largest_, __shfl_xor_sync(kAllLanes, largest_, offset));
      finite &= __shfl_xor_sync(kAllLanes, finite, offset);
    }
    finite_ = finite != 0;
  }

  /// To be asked before every attempt.
  __device__ __forceinline__ bool goes_on() const { return finite_ && info_ == kNoSolution && attempt_ < 2; }
  /// The ridge of this attempt, added to the diagonal.
  __device__ __forceinline__ double ridge() const {
    return (attempt_ == 0 || ridge_ > kOwnRidge ? ridge_ : kOwnRidge) * largest_;
  }
  __device__ __forceinline__ bool is_full_rank(double pivot) const { return pivot > kRankTolerance * largest_; }
  /// How the attempt ended.
  __device__ __forceinline__ void end(bool full_rank) {
    if (full_rank) info_ = attempt_ == 0 ? kSolved : kOwnRidgeTaken;
    ++attempt_;
  }
  /// No rule has an activation anywhere: consequents of 0 say that there is nothing to say.
  __device__ __forceinline__ bool is_empty() const { return finite_ && largest_ == 0.0; }
  __device__ __forceinline__ int info() const { return is_empty() ? kOwnRidgeTaken : info_; }

 private:
  double ridge_, largest_ = 0.0;
  bool finite_ = false;
  int attempt_ = 0, info_ = kNoSolution;
};

/// theta from the normal equations by a factorisation L D L^T in shared memory; one block. The rows of Y below those of
/// Phi go through the elimination with them, which is the forward substitution. Where Phi is rank deficient, again with
/// a ridge.
template <int Block>
__device__ __forceinline__ void solve(const Batch& batch, const double* gram, int pitch, double ridge, double* solution,
                                      int* info, Pieces pieces) {
  constexpr int kWarps = Block / kWarp;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int unknowns = batch.unknowns(), columns = batch.columns();
  const SolvePieces<int> of(batch);
  const int own_pitch = of.pitch;
  double* a = pieces.doubles(of.matrix);
  double* inverse = pieces.doubles(of.inverse);

  const auto fetch = [&] {
    for (int i = warp; i < columns; i += kWarps) {
      for (int j = lane; j < unknowns && j <= i; j += kWarp) {
        a[i * own_pitch + j] = gram[static_cast<long long>(i) * pitch + j];
      }
    }
    __syncthreads();
  };
  fetch();
  Attempts attempts(unknowns, ridge, [&](int i) { return a[i * own_pitch + i]; });
  __syncthreads();  // every warp has looked at the diagonal before it changes
  while (attempts.goes_on()) {
    const double added = attempts.ridge();
    bool full_rank = true;
    for (int j = 0; j < unknowns; ++j) {
      const double pivot = a[j * own_pitch + j] + added;
      full_rank = attempts.is_full_rank(pivot);
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
    attempts.end(full_rank);
    if (attempts.goes_on()) fetch();
  }
  if (attempts.is_empty()) {
    for (int i = thread; i < batch.consequents(); i += Block) solution[i] = 0.0;
  } else if (attempts.info() != kNoSolution) {
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
  if (thread == 0) *info = attempts.info();
  __syncthreads();
}

/// Writes the gradient, 2 K D, by centres and then by widths, the errors after it, and of every block the sum of the
/// squares of its part of the gradient. Element base + lane of block b: see `share`.
template <int Block, class T>
__device__ __forceinline__ void gather_slopes(const Batch& batch, const T* partial, int parts, const float* widths,
                                              const Control& control, double* gradient, double* squares, Pieces pieces,
                                              Share share) {
  double* words = pieces.doubles(SumPieces<int>(Block).parts);
  const int tasks = batch.tasks(), elements = batch.slopes();
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
    own = sum_over_warp(own);
    if (threadIdx.x == 0) squares[share.block] = own;
  }
  __syncthreads();
}

/// The parameters of a system.
struct Parameters {
  float *centres, *widths, *consequents;
};

/// The step of centres and widths along the gradient.
class Step {
 public:
  /// `squares`: of the whole gradient; `length`: Progress::step before the iteration was counted.
  __device__ __forceinline__ Step(const Control& control, double squares, double length)
      : factor_(control.plain_step != 0 ? static_cast<double>(control.rate)
                : squares > 0.0         ? length / sqrt(squares)
                                        : 0.0),
        least_(control.minimum_width) {}
  template <class Real>
  __device__ __forceinline__ void move(Real& centre, Real& width, double by_centre, double by_width) const {
    centre -= static_cast<Real>(factor_ * by_centre);
    width = no_smaller(width - static_cast<Real>(factor_ * by_width), static_cast<Real>(least_));
  }

 private:
  double factor_;
  float least_;
};

/// The error of the rows learnt, from the sum of its squares: NaN without a solution.
__device__ __forceinline__ double error_of(int info, double mean) {
  return info == kNoSolution ? __longlong_as_double(0x7ff8000000000000ll) : mean;
}

/// Bookkeeping of the iteration, by every block alike, and the step of this share. `before`: the progress at its
/// beginning; block 0 writes the progress after it.
template <int Block>
__device__ __forceinline__ void move_parameters(const Batch& batch, const Parameters& now, const Parameters& best,
                                                const double* solution, const int* info, const double* gradient,
                                                const double* squares, int square_count, const Control& control,
                                                const Progress& before, Progress* progress_at, double* errors,
                                                int slots, Pieces pieces, Share share) {
  double* words = pieces.doubles(SumPieces<int>(Block).parts);
  const int thread = static_cast<int>(threadIdx.x);
  double own = 0.0;
  for (int i = thread; i < square_count; i += Block) own += squares[i];
  words[thread] = own;
  __syncthreads();
  for (int half = Block / 2; half > 0; half /= 2) {
    if (thread < half) words[thread] += words[thread + half];
    __syncthreads();
  }
  const int tasks = batch.tasks();
  const Step forward(control, words[0], before.step);
  const double error = error_of(*info, gradient[2 * tasks]);
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
  const long long first = static_cast<long long>(share.block) * Block + thread;
  const long long stride = static_cast<long long>(share.blocks) * Block;
  for (long long i = first; i < tasks; i += stride) {
    float centre = now.centres[i], width = now.widths[i];
    if (is_best) {
      best.centres[i] = centre;
      best.widths[i] = width;
    }
    forward.move(centre, width, gradient[i], gradient[tasks + i]);
    now.centres[i] = centre;
    now.widths[i] = width;
  }
  const long long numbers = static_cast<long long>(batch.unknowns()) * batch.outputs;
  for (long long i = first; i < numbers; i += stride) {
    const float theta = static_cast<float>(solution[i]);
    now.consequents[i] = theta;
    if (is_best) best.consequents[i] = theta;
  }
}

}  // namespace heddle::tsk
