// Products of matrices of bytes by a warp: the tensor cores' instruction, its PTX, and what brings bytes into its
// order. Sums of whole numbers are exact, in any order. A device that runs templates without a GPU replaces this file.
#pragma once

#include "heddle/kernels/common/reduce.cuh"

namespace heddle {

#if __CUDA_ARCH__ >= 800

/// C += A B for C[16][8], A[16][32] of bytes from 0 to 255 and B[32][8] of bytes from -128 to 127, spread over the
/// lanes of a warp as PTX ISA, "mma.m16n8k32 with integer type", says: with g = l / 4 and t = l % 4 of lane l, `a` is
/// row g, columns 4 t to 4 t + 3, then row g + 8, and the same of columns 16 further on; `b` is column g, rows 4 t to 4
/// t + 3 and those 16 further on; and `c` is C[g][2 t], C[g][2 t + 1], C[g + 8][2 t], C[g + 8][2 t + 1]. The first of
/// four bytes is the lowest one. All lanes take part.
__device__ __forceinline__ void multiply_add_16x8x32(int (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif

/// Byte i of word j becomes byte j of word i.
__device__ __forceinline__ void transpose_bytes(unsigned (&words)[4]) {
  const unsigned low = __byte_perm(words[0], words[1], 0x5140), high = __byte_perm(words[0], words[1], 0x7362);
  const unsigned next_low = __byte_perm(words[2], words[3], 0x5140);
  const unsigned next_high = __byte_perm(words[2], words[3], 0x7362);
  words[0] = __byte_perm(low, next_low, 0x5410);
  words[1] = __byte_perm(low, next_low, 0x7632);
  words[2] = __byte_perm(high, next_high, 0x5410);
  words[3] = __byte_perm(high, next_high, 0x7632);
}

}  // namespace heddle
