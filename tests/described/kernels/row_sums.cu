// sums[row] = sum over the columns of a matrix of rows x columns; columns is a multiple of 4. A block for each row.
//
// | parameter | meaning |
// |---|---|
// | Block | threads of a block, a power of two |
// | Order | by turns (0): a thread takes every Block-th four columns; in runs (1): it takes neighbours |
#include "heddle/kernels/common/memory.cuh"

namespace described::sums {

enum class Order { by_turns, in_runs };

__device__ inline float of(float4 four) { return (four.x + four.y) + (four.z + four.w); }

template <int Block, Order Walk>
__global__ void rows(const float4* values, float* sums, unsigned columns) {
  heddle::SharedMemory shared;
  float* const part = shared.take<float>(Block);
  const unsigned fours = columns / 4, thread = threadIdx.x;
  const unsigned run = (fours + Block - 1) / Block;
  const unsigned begin = Walk == Order::by_turns ? thread : thread * run;
  const unsigned end = Walk == Order::by_turns ? fours : min(fours, begin + run);
  float sum = 0.0f;
  for (unsigned i = begin; i < end; i += Walk == Order::by_turns ? Block : 1) sum += of(values[blockIdx.x * fours + i]);
  part[thread] = sum;
  __syncthreads();
  for (unsigned half = Block / 2; half > 0; half /= 2) {
    if (thread < half) part[thread] += part[thread + half];
    __syncthreads();
  }
  if (thread == 0) sums[blockIdx.x] = part[0];
}

}  // namespace described::sums
