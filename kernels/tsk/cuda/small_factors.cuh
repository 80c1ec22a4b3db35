// L D L^T of a small symmetric matrix, in the registers of one thread.
#pragma once

namespace heddle::tsk {

/// Of the first `there` rows and columns of a matrix of Size x Size, at most all of it. L has a diagonal of 1.
template <int Size>
class SmallFactors {
 public:
  /// `matrix`: row after row; what is below the diagonal is read.
  __device__ __forceinline__ SmallFactors(const double* matrix, int there) {
#pragma unroll
    for (int q = 0; q < Size; ++q) {
#pragma unroll
      for (int t = q; t < Size; ++t) {
        double value = matrix[t * Size + q];
#pragma unroll
        for (int s = 0; s < q; ++s) value -= lower_[t][s] * scaled_[q][s];
        scaled_[t][q] = value;
      }
      const double inverse = 1.0 / scaled_[q][q];
      inverse_[q] = q < there ? inverse : 0.0;
#pragma unroll
      for (int t = q + 1; t < Size; ++t) lower_[t][q] = scaled_[t][q] * inverse_[q];
    }
  }

  [[nodiscard]] __device__ __forceinline__ double pivot(int q) const { return scaled_[q][q]; }

  /// row <- row (L D L^T)^-1; the elements that are not there become 0.
  __device__ __forceinline__ void divide(double (&row)[Size]) const {
#pragma unroll
    for (int q = 0; q < Size; ++q) {
#pragma unroll
      for (int s = 0; s < q; ++s) row[q] -= lower_[q][s] * row[s];
    }
#pragma unroll
    for (int q = 0; q < Size; ++q) row[q] *= inverse_[q];
#pragma unroll
    for (int q = Size - 1; q >= 0; --q) {
#pragma unroll
      for (int s = q + 1; s < Size; ++s) row[q] -= lower_[s][q] * row[s];
    }
  }

 private:
  double lower_[Size][Size], scaled_[Size][Size];  // L, and L D
  double inverse_[Size];
};

}  // namespace heddle::tsk
