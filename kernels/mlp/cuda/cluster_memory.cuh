// What the blocks of scheme = cluster have in shared memory, and how numbers become digits.
#pragma once

#include "heddle/kernels/mlp/cuda/cluster_sizes.cuh"
#include "heddle/kernels/mlp/cuda/resident_memory.cuh"

namespace heddle::mlp {

/// What makes whole numbers of three digits of numbers up to a largest one: a power of two, and its reciprocal.
struct DigitScale {
  float scale, factor;

  /// `largest`: the bits of the largest absolute value. Of one that is no number the factor is none either.
  __device__ __forceinline__ explicit DigitScale(unsigned largest) {
    constexpr float kMargin = 1.004f, kLeast = 7.9e-31f;  // about 2^-100: both powers of two are normal
    const unsigned exponent = __float_as_uint(fmaxf(__uint_as_float(largest), kLeast) * kMargin) >> 23;
    scale = __uint_as_float((254u + kDigitBits - exponent) << 23);
    factor = __uint_as_float(largest < 0x7f800000u ? (exponent - kDigitBits) << 23 : 0x7fc00000u);
  }
  /// The digits, the lowest one in the lowest byte; the highest byte continues the sign.
  __device__ __forceinline__ unsigned digits(float value) const {
    const unsigned whole = static_cast<unsigned>(static_cast<int>(floorf(value * scale + 0.5f)));
    return (whole + 0x808080u) ^ 0x808080u;
  }
};
__device__ __forceinline__ unsigned absolute_bits(float value) { return __float_as_uint(value) & 0x7fffffffu; }

/// A block's pieces of shared memory: see ClusterPieces.
struct ClusterMemory {
  unsigned *rows, *weight_digits, *delta_digits;
  float *weight_floats, *sums, *delta_floats, *deltas;
  float *upper_sums, *weight_factors, *delta_factors, *own, *targets;
  int* box;
  Control* control;  ///< in registers it would take too many

  ClusterMemory() = default;
  __device__ __forceinline__ ClusterMemory(SharedMemory& shared, const ClusterPieces<int>& of) {
    rows = shared.take<unsigned>(of.rows);
    weight_floats = shared.take<float>(of.weights);
    weight_digits = reinterpret_cast<unsigned*>(weight_floats);
    sums = shared.take<float>(of.sums);
    delta_floats = of.digits > 0 ? shared.take<float>(of.digits) : sums;
    delta_digits = reinterpret_cast<unsigned*>(delta_floats);
    deltas = shared.take<float>(of.deltas);
    upper_sums = shared.take<float>(of.upper);
    weight_factors = shared.take<float>(of.factors);
    delta_factors = weight_factors + of.factors / 2;
    own = shared.take<float>(of.own);
    targets = shared.take<float>(of.targets);
    box = shared.take<int>(of.box);
    control = reinterpret_cast<Control*>(shared.take<int>(of.control));
    static_assert(sizeof(Control) <= 128, "ClusterPieces::control");
  }
};

}  // namespace heddle::mlp
