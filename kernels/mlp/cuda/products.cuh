// Products of matrices in shared or global memory by a warp, float32 to rounding: each factor is a sum of two numbers
// that the tensor cores take (TF32, 11 bits), and of their four products the smallest is left out, or two where a
// factor is known to need one number only. The addends are summed in float32 in a fixed order.
//
// A warp takes 16 addends at a time, a chunk: two instructions of 8. Which of them a lane has in an instruction is
// free, as long as both factors agree. So a lane has four that lie next to each other in memory, or the same columns of
// four rows.
//
// In comments, g is lane / 4 and t is lane % 4.
#pragma once

#include "heddle/kernels/common/matrix.cuh"
#include "heddle/kernels/common/memory.cuh"
#include "heddle/kernels/mlp/cuda/resident_sizes.cuh"

namespace heddle::mlp {

__device__ __forceinline__ int lane_group() { return static_cast<int>(threadIdx.x) % kWarp / 4; }
__device__ __forceinline__ int lane_of_group() { return static_cast<int>(threadIdx.x) % 4; }

// Left factors A[m][k]. read() fills the registers of tiles of 16 rows for both instructions of a chunk.

/// A[m][k] = at[m * Pitch + k]: a lane has four neighbours of rows g and g + 8.
template <int Pitch>
struct RowsAlong {
  static constexpr bool kOneTerm = false;
  const float* at;

  template <int Tiles>
  __device__ __forceinline__ void read(int chunk, float (&left)[Tiles][2][4]) const {
    const float* from = at + lane_group() * Pitch + chunk * kDepth + 4 * lane_of_group();
#pragma unroll
    for (int m = 0; m < Tiles; ++m) {
      const Pack<4> upper = load<4>(from + m * 16 * Pitch), lower = load<4>(from + (m * 16 + 8) * Pitch);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        left[m][half][0] = upper.value[2 * half];
        left[m][half][1] = lower.value[2 * half];
        left[m][half][2] = upper.value[2 * half + 1];
        left[m][half][3] = lower.value[2 * half + 1];
      }
    }
  }
};

__device__ __forceinline__ float byte_of(unsigned word, int i) { return static_cast<float>(word >> (8 * i) & 0xffu); }

/// The same of bytes; Pitch in words.
template <int Pitch>
struct BytesAlong {
  static constexpr bool kOneTerm = true;
  const unsigned* at;

  template <int Tiles>
  __device__ __forceinline__ void read(int chunk, float (&left)[Tiles][2][4]) const {
    const unsigned* from = at + lane_group() * Pitch + chunk * (kDepth / 4) + lane_of_group();
#pragma unroll
    for (int m = 0; m < Tiles; ++m) {
      const unsigned upper = from[m * 16 * Pitch], lower = from[(m * 16 + 8) * Pitch];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        left[m][half][0] = byte_of(upper, 2 * half);
        left[m][half][1] = byte_of(lower, 2 * half);
        left[m][half][2] = byte_of(upper, 2 * half + 1);
        left[m][half][3] = byte_of(lower, 2 * half + 1);
      }
    }
  }
};

/// A[m][k] = at[k * Pitch + m]: a lane has Width neighbours, from Width * g on, of addends t, t + 4, t + 8, t + 12. Row
/// g of tile i is column Width * g + 2 i, row g + 8 the one after it.
template <int Pitch, int Width>
struct ColumnsAcross {
  static constexpr bool kOneTerm = false;
  const float* at;

  template <int Tiles>
  __device__ __forceinline__ void read(int chunk, float (&left)[Tiles][2][4]) const {
    static_assert(Tiles == Width / 2, "two rows of a tile a lane");
    Pack<Width> seen[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      seen[i] = load<Width>(at + (chunk * kDepth + lane_of_group() + 4 * i) * Pitch + Width * lane_group());
    }
#pragma unroll
    for (int m = 0; m < Tiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        left[m][half][0] = seen[2 * half].value[2 * m];
        left[m][half][1] = seen[2 * half].value[2 * m + 1];
        left[m][half][2] = seen[2 * half + 1].value[2 * m];
        left[m][half][3] = seen[2 * half + 1].value[2 * m + 1];
      }
    }
  }
};

/// The same of bytes, with Width 4; Pitch in words.
template <int Pitch>
struct BytesAcross {
  static constexpr bool kOneTerm = true;
  const unsigned* at;

  template <int Tiles>
  __device__ __forceinline__ void read(int chunk, float (&left)[Tiles][2][4]) const {
    static_assert(Tiles == 2, "four bytes a lane");
    unsigned seen[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) seen[i] = at[(chunk * kDepth + lane_of_group() + 4 * i) * Pitch + lane_group()];
#pragma unroll
    for (int m = 0; m < Tiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        left[m][half][0] = byte_of(seen[2 * half], 2 * m);
        left[m][half][1] = byte_of(seen[2 * half], 2 * m + 1);
        left[m][half][2] = byte_of(seen[2 * half + 1], 2 * m);
        left[m][half][3] = byte_of(seen[2 * half + 1], 2 * m + 1);
      }
    }
  }
};

// Right factors B[k][n].

/// B[k][n] = at[n * Pitch + k], for n up to `last`; the one at `last` stands for those beyond. Goes with RowsAlong.
/// Column g of tile i is n = 8 i + g.
template <int Pitch>
struct NeuronsAlong {
  const float* at;
  int last;

  template <int Tiles>
  __device__ __forceinline__ void read(int chunk, float (&right)[Tiles][2][2]) const {
#pragma unroll
    for (int n = 0; n < Tiles; ++n) {
      const Pack<4> seen = load<4>(at + min(n * 8 + lane_group(), last) * Pitch + chunk * kDepth + 4 * lane_of_group());
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        right[n][half][0] = seen.value[2 * half];
        right[n][half][1] = seen.value[2 * half + 1];
      }
    }
  }
};

/// B[k][n] = at[k * Pitch + n], for k up to `last`; the row at `last` stands for those beyond. A lane has Width
/// neighbours, from Width * g on: column g of tile i is Width * g + i. `Spread`: of addends t, t + 4, ..., with
/// ColumnsAcross; otherwise of addends 4 t, 4 t + 1, ..., with RowsAlong.
template <int Pitch, int Width, bool Spread>
struct ColumnsBeside {
  const float* at;
  int last;

  template <int Tiles>
  __device__ __forceinline__ void read(int chunk, float (&right)[Tiles][2][2]) const {
    static_assert(Tiles == Width, "one column of a tile a lane");
    Pack<Width> seen[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int k = chunk * kDepth + (Spread ? lane_of_group() + 4 * i : 4 * lane_of_group() + i);
      seen[i] = load<Width>(at + min(k, last) * Pitch + Width * lane_group());
    }
#pragma unroll
    for (int n = 0; n < Tiles; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        right[n][half][0] = seen[2 * half].value[n];
        right[n][half][1] = seen[2 * half + 1].value[n];
      }
    }
  }
};

/// The leading term of a factor, rounded; the rest is exact, and the tensor cores take 11 bits of it.
__device__ __forceinline__ float leading(float value) {
  return __uint_as_float((__float_as_uint(value) + 0x1000u) & 0xffffe000u);
}

template <int RowTiles, int ColumnTiles>
__device__ __forceinline__ void clear(float (&sums)[RowTiles][ColumnTiles][4]) {
#pragma unroll
  for (int m = 0; m < RowTiles; ++m) {
#pragma unroll
    for (int n = 0; n < ColumnTiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[m][n][i] = 0.0f;
    }
  }
}

/// Tiles of a product up to which a lane has registers to sum the small products apart, so that fewer of the tensor
/// cores' instructions wait for each other.
constexpr int kFewTiles = 2;

/// sums += A B over chunks first, first + step, ... below `end`. Of a lane, sums[m][n][0] and [1] are row g and columns
/// 2 t and 2 t + 1 of the tile, [2] and [3] row g + 8. All lanes take part.
template <int RowTiles, int ColumnTiles, class Left, class Right>
__device__ __forceinline__ void multiply_add(float (&sums)[RowTiles][ColumnTiles][4], const Left& a, const Right& b,
                                             int first, int end, int step = 1) {
  // Sums of products of both leading terms, and of those with the rest of a left or a right factor.
  constexpr int kChains = RowTiles * ColumnTiles <= kFewTiles ? 3 : 1;
  float apart[kChains][RowTiles][ColumnTiles][4];
#pragma unroll
  for (int chain = 1; chain < kChains; ++chain) clear(apart[chain]);
  auto& of_left = kChains > 1 ? apart[1 % kChains] : sums;
  auto& of_right = kChains > 1 ? apart[2 % kChains] : sums;
#pragma unroll 1
  for (int chunk = first; chunk < end; chunk += step) {
    float left[RowTiles][2][4], right[ColumnTiles][2][2];
    b.read(chunk, right);
    a.read(chunk, left);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float rest[ColumnTiles][2];
#pragma unroll
      for (int n = 0; n < ColumnTiles; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float whole = right[n][half][i];
          right[n][half][i] = leading(whole);
          rest[n][i] = whole - right[n][half][i];
        }
      }
#pragma unroll
      for (int m = 0; m < RowTiles; ++m) {
        if constexpr (!Left::kOneTerm) {
          float small[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float whole = left[m][half][i];
            left[m][half][i] = leading(whole);
            small[i] = whole - left[m][half][i];
          }
#pragma unroll
          for (int n = 0; n < ColumnTiles; ++n) multiply_add_16x8x8(of_left[m][n], small, right[n][half]);
        }
#pragma unroll
        for (int n = 0; n < ColumnTiles; ++n) multiply_add_16x8x8(of_right[m][n], left[m][half], rest[n]);
#pragma unroll
        for (int n = 0; n < ColumnTiles; ++n) multiply_add_16x8x8(sums[m][n], left[m][half], right[n][half]);
      }
    }
  }
  if constexpr (kChains > 1) {
#pragma unroll
    for (int m = 0; m < RowTiles; ++m) {
#pragma unroll
      for (int n = 0; n < ColumnTiles; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sums[m][n][i] += of_left[m][n][i] + of_right[m][n][i];
      }
    }
  }
}

}  // namespace heddle::mlp
