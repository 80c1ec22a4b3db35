// Activations of a tile of rows in shared memory: what both passes over the rows begin with. Formulas: docs/design.md,
// "Batch least squares and gradient".
//
// | parameter | meaning |
// |---|---|
// | Rows  | rows of a tile |
// | Lanes | threads that share a row: rules are dealt to them in turn |
// A block has Rows * Lanes threads.
#pragma once

#include "heddle/kernels/common/memory.cuh"
#include "heddle/kernels/common/reduce.cuh"
#include "heddle/kernels/tsk/control.cuh"
#include "heddle/kernels/tsk/cuda/sizes.cuh"

namespace heddle::tsk {

/// The problem and where it lies; the same for all kernels.
struct Batch : Sizes<int> {
  const float* rows = nullptr;     ///< N x D
  const float* targets = nullptr;  ///< N x L
  /// Of a launch that does a piece of the rows: the first, and that after the last. Rows, targets and whatever else is
  /// counted by rows are addressed by their numbers among all rows; only those of the piece are there.
  int first = 0, end = 0x7fffffff;
  int adds = 0;  ///< not 0: its sums are added to what is there

  /// Behind the last row that is learnt, and behind the last of all.
  __device__ __forceinline__ long long learnt_end(const Control& control) const {
    return control.rows < end ? control.rows : end;
  }
  __device__ __forceinline__ long long rows_end(const Control& control) const {
    const long long all = static_cast<long long>(control.rows) + control.held_back;
    return all < end ? all : end;
  }
};

/// Which part of a grid's work this block does.
struct Share {
  int block, blocks;
};

__device__ __forceinline__ bool goes_on(const Control& control, const Progress& progress) {
  return progress.halted == kGoesOn && progress.iteration < control.end;
}

/// The product of the columns is computed in squares, those of its lower triangle numbered row after row: the row of
/// square `pair`.
__device__ __forceinline__ int square_row(int pair) {
  int row = static_cast<int>(0.5f * (sqrtf(8.0f * static_cast<float>(pair) + 1.0f) - 1.0f));
  while (triangle(row) > pair) --row;  // where the root was rounded
  while (triangle(row + 1) <= pair) ++row;
  return row;
}

/// Divides one piece of a block's shared memory among the parts of a phase. Phases that follow each other behind a
/// barrier each divide it anew.
class Pieces {
 public:
  /// `words`: of the launch's shared memory, all of it.
  __device__ __forceinline__ explicit Pieces(int words) { from_ = SharedMemory().take<float>(words); }
  __device__ __forceinline__ float* floats(int count) { return take<float>(count); }
  /// To be taken before any floats, so that they are aligned.
  __device__ __forceinline__ double* doubles(int count) { return take<double>(count); }
  template <class T>
  __device__ __forceinline__ T* take(int count) {
    float* piece = from_;
    from_ += count * static_cast<int>(sizeof(T) / sizeof(float));
    return reinterpret_cast<T*>(piece);
  }

 private:
  float* from_;
};

/// Centres and 1 / widths, K x D each, copied once for all tiles of a block.
struct Antecedents {
  float *centres, *inverse;

  template <int Block>
  __device__ __forceinline__ void fetch(Pieces& pieces, const float* from_centres, const float* from_widths,
                                        int tasks) {
    centres = pieces.floats(tasks);
    inverse = pieces.floats(tasks);
    for (int i = static_cast<int>(threadIdx.x); i < tasks; i += Block) {
      centres[i] = from_centres[i];
      inverse[i] = 1.0f / from_widths[i];
    }
    __syncthreads();
  }
};

/// phi[row][k] of the rows first, first + 1, ...; 0 in rows at and after `end`. Every thread leaves with its own rules
/// of its own row written; a barrier shows them to the block.
template <int Rows, int Lanes>
__device__ __forceinline__ void activate(const Batch& batch, const Antecedents& antecedents, long long first,
                                         long long end, float* phi, int pitch) {
  const int row = static_cast<int>(threadIdx.x) / Lanes, lane = static_cast<int>(threadIdx.x) % Lanes;
  float* own = phi + row * pitch;
  const bool there = first + row < end;
  const float* x = batch.rows + (there ? first + row : first) * batch.dim;
  float top = -infinity();
  for (int k = lane; k < batch.rules; k += Lanes) {
    float sum = 0.0f;
    for (int j = 0; j < batch.dim; ++j) {
      const float u = (x[j] - antecedents.centres[k * batch.dim + j]) * antecedents.inverse[k * batch.dim + j];
      sum += u * u;
    }
    own[k] = -0.5f * sum;
    top = fmaxf(top, -0.5f * sum);
  }
#pragma unroll
  for (int offset = Lanes / 2; offset > 0; offset /= 2) top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, offset));
  float sum = 0.0f;
  for (int k = lane; k < batch.rules; k += Lanes) {
    const float weight = exp_below(own[k], top);
    own[k] = weight;
    sum += weight;
  }
  const float total = sum_over_lanes<Lanes>(sum);
  const float scale = there ? 1.0f / total : 0.0f;
  for (int k = lane; k < batch.rules; k += Lanes) own[k] *= scale;
}

}  // namespace heddle::tsk
