// Whether two pieces of memory hold the same bytes.
#pragma once

namespace heddle {

/// Sets *differ to 1 if they do not. `quads`: how many 16 bytes of them are compared at once, 0 if one of the two
/// begins at an address that 16 does not divide.
template <int block>
__global__ void __launch_bounds__(block)
    compare(const unsigned char* __restrict__ a, const unsigned char* __restrict__ b, long long bytes, long long quads,
            int* differ) {
  const long long step = static_cast<long long>(gridDim.x) * block;
  const long long first = static_cast<long long>(blockIdx.x) * block + threadIdx.x;
  const uint4* const a4 = reinterpret_cast<const uint4*>(a);
  const uint4* const b4 = reinterpret_cast<const uint4*>(b);
  unsigned found = 0;
#pragma unroll 4
  for (long long i = first; i < quads; i += step) {
    const uint4 x = a4[i], y = b4[i];
    found |= (x.x ^ y.x) | (x.y ^ y.y) | (x.z ^ y.z) | (x.w ^ y.w);
  }
  for (long long i = static_cast<long long>(sizeof(uint4)) * quads + first; i < bytes; i += step) {
    found |= static_cast<unsigned>(a[i] ^ b[i]);
  }
  if (found != 0) atomicOr(differ, 1);
}

}  // namespace heddle
