// From a type that a description names to the type that a program on the host calculates with.
#pragma once

#include <cstdint>

#include "heddle/kernels/own/element_type.hpp"
#include "heddle/kernels/own/small_real.hpp"

namespace heddle {

/// Calls `what` with a number of the type: an integer, a float, a double, Float16 or BFloat16.
template <class What>
auto with_number(ElementType type, const What& what) {
  switch (type) {
    case ElementType::uint8:
      return what(std::uint8_t{});
    case ElementType::int8:
      return what(std::int8_t{});
    case ElementType::int16:
      return what(std::int16_t{});
    case ElementType::uint16:
      return what(std::uint16_t{});
    case ElementType::int32:
      return what(std::int32_t{});
    case ElementType::uint32:
      return what(std::uint32_t{});
    case ElementType::int64:
      return what(std::int64_t{});
    case ElementType::uint64:
      return what(std::uint64_t{});
    case ElementType::float32:
      return what(float{});
    case ElementType::float16:
      return what(Float16());
    case ElementType::bfloat16:
      return what(BFloat16());
    default:
      return what(double{});
  }
}

}  // namespace heddle
