// Work that holds a block's place on a GPU and does nothing else. Compiled at run time like the templates.
#pragma once

namespace heddle::bench {

__device__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// Each block leaves word that it ran.
__global__ void __launch_bounds__(1024) occupy(int* ran, int microseconds) {
  const unsigned long long start = nanoseconds();
  while (nanoseconds() - start < 1000ull * microseconds) {
  }
  if (threadIdx.x == 0) ran[blockIdx.x] = 1;
}

}  // namespace heddle::bench
