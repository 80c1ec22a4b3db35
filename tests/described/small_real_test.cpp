// Reals of 16 bits: every one of them, and what lies between them.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "heddle/kernels/own/buffer_difference.hpp"
#include "heddle/kernels/own/element_type.hpp"
#include "heddle/kernels/own/fill.hpp"
#include "heddle/kernels/own/small_real.hpp"

namespace heddle {
namespace {

template <class Real>
void check_all() {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const Real number = Real::of_bits(static_cast<std::uint16_t>(bits));
    const auto value = static_cast<double>(number);
    if (std::isnan(value)) {
      CHECK(std::isnan(static_cast<double>(Real(value))));
      continue;
    }
    CHECK(Real(value).bits() == bits);
  }
  // Neighbours and the middle between them, which goes to the even one.
  for (std::uint16_t bits = 0; static_cast<double>(Real::of_bits(bits)) < Real::largest(); ++bits) {
    const auto below = static_cast<double>(Real::of_bits(bits));
    const auto above = static_cast<double>(Real::of_bits(static_cast<std::uint16_t>(bits + 1)));
    const double middle = 0.5 * (below + above);
    CHECK(Real(middle).bits() == (bits % 2 == 0 ? bits : bits + 1));
    CHECK(Real(std::nextafter(middle, below)).bits() == bits);
    CHECK(Real(std::nextafter(middle, above)).bits() == bits + 1);
  }
  CHECK(std::isinf(static_cast<double>(Real(1.1 * Real::largest()))));
  CHECK(static_cast<double>(Real(-0.0)) == 0.0);
  CHECK(std::signbit(static_cast<double>(Real(-0.0))));
}

}  // namespace

TEST_CASE("numbers of 16 bits round to the nearest, ties to even") {
  check_all<Float16>();
  check_all<BFloat16>();
  CHECK(Float16::largest() == 65504.0);
  CHECK(Float16(1.0).bits() == 0x3C00);
  CHECK(Float16(0x1p-24).bits() == 1);
  for (const float value : {1.0F, -3.5F, 0x1p-120F, 123456.0F}) {
    CHECK(BFloat16(std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xFFFF0000U)).bits() ==
          std::bit_cast<std::uint32_t>(value) >> 16U);
  }
}

TEST_CASE("buffers of 16-bit reals are filled and compared by value") {
  CHECK(find_shape("half")->type == ElementType::float16);
  CHECK(find_shape("__nv_bfloat162")->lanes == 2);
  CHECK_FALSE(find_shape("half4"));
  for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
    CHECK(find_shape(name_of(type))->type == type);
    Random random(1);
    const Fill fill{.kind = Fill::Kind::random};
    auto bytes = filled(fill, type, 2000, random);
    CHECK(buffer_difference(type, bytes, bytes) == 0.0);
    auto other = bytes;
    other[0] ^= std::byte{1};  // a unit of the last place of one of 1000 numbers
    const double error = buffer_difference(type, other, bytes);
    CHECK(error > 0.0);
    CHECK(error < 1e-2);
    other[1] ^= std::byte{0x80};  // the sign
    CHECK(buffer_difference(type, other, bytes) > 1e-3);
  }
  CHECK_FALSE(fits({.kind = Fill::Kind::equal, .from = 65505.0, .usual = false}, ElementType::float16));
  CHECK(fits({.kind = Fill::Kind::equal, .from = 65505.0, .usual = false}, ElementType::bfloat16));
}

}  // namespace heddle
