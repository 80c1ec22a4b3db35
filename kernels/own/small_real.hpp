// Real numbers of 16 bits, as CUDA's __half and __nv_bfloat16 store them, on a host that has no such type.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace heddle {

/// A sign, `ExponentBits` bits of exponent, and a fraction, in the layout of IEEE 754.
template <int ExponentBits>
class SmallReal {
 public:
  static constexpr int kFractionBits = 15 - ExponentBits;
  static constexpr int kBias = (1 << (ExponentBits - 1)) - 1;
  static constexpr int kLeastExponent = 1 - kBias;  ///< of a normal number

  SmallReal() = default;
  /// The nearest number, the even one of two that are as near; infinite beyond largest().
  explicit SmallReal(double value) : bits_(std::signbit(value) ? kSign : std::uint16_t{0}) {
    const double size = std::fabs(value);
    if (std::isnan(value)) {
      bits_ |= kInfinity | (1U << (kFractionBits - 1));
      return;
    }
    if (std::isinf(value)) {
      bits_ |= kInfinity;
      return;
    }
    if (size == 0.0) return;
    const int exponent = std::max(std::ilogb(size), kLeastExponent);
    // Whole units of the last place: at most twice 2^kFractionBits, after rounding. The rounding may carry into the
    // exponent, and beyond the largest one that makes it the bits of infinity: both come out right by addition.
    const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, kFractionBits - exponent)));
    const auto biased = static_cast<std::uint32_t>(exponent + kBias);
    const std::uint32_t magnitude = ((biased - 1U) << kFractionBits) + units;
    bits_ |= static_cast<std::uint16_t>(exponent > kBias || magnitude > kInfinity ? kInfinity : magnitude);
  }
  [[nodiscard]] static constexpr SmallReal of_bits(std::uint16_t bits) {
    SmallReal number;
    number.bits_ = bits;
    return number;
  }
  [[nodiscard]] constexpr std::uint16_t bits() const noexcept { return bits_; }

  explicit operator double() const {
    const int biased = (bits_ & kInfinity) >> kFractionBits;
    const int fraction = bits_ & ((1 << kFractionBits) - 1);
    double size = 0.0;
    if (biased == (1 << ExponentBits) - 1) {
      size = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    } else if (biased == 0) {
      size = std::ldexp(fraction, kLeastExponent - kFractionBits);
    } else {
      size = std::ldexp(fraction + (1 << kFractionBits), biased - kBias - kFractionBits);
    }
    return (bits_ & kSign) != 0 ? -size : size;
  }

  [[nodiscard]] static double largest() { return static_cast<double>(of_bits(kInfinity - 1)); }

 private:
  static constexpr std::uint16_t kSign = 0x8000;
  static constexpr std::uint16_t kInfinity = ((1U << ExponentBits) - 1U) << kFractionBits;
  std::uint16_t bits_ = 0;
};

using Float16 = SmallReal<5>;   ///< CUDA's __half
using BFloat16 = SmallReal<8>;  ///< CUDA's __nv_bfloat16: the upper half of a float

}  // namespace heddle
