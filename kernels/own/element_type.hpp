// The types of what kernels take, by the names that a description gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle {

/// What a buffer holds, or the type of a number.
enum class ElementType {
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  int8,
  int16,
  uint16,
  float16,  ///< CUDA's __half
  bfloat16  ///< CUDA's __nv_bfloat16
};

/// An element of a buffer: `lanes` numbers of one type, CUDA's float4 for example.
struct ElementShape {
  ElementType type = ElementType::float32;
  int lanes = 1;  ///< 1 to 4
};

/// "uint8", "float32", ...
[[nodiscard]] std::string_view name_of(ElementType type);
/// Bytes of one number.
[[nodiscard]] std::int64_t size_of(ElementType type);
[[nodiscard]] bool is_real(ElementType type);

/// The shape with one of these names; nothing for another name:
///
/// - name_of() any type, and "float", "double", "int", "unsigned", "half", "__half", "__nv_bfloat16";
/// - CUDA's vectors: char, uchar, short, ushort, int, uint, longlong, ulonglong, float or double, and 2, 3 or 4;
/// - "half2", "__half2", "__nv_bfloat162".
[[nodiscard]] std::optional<ElementShape> find_shape(std::string_view name);
/// A name that find_shape() knows.
[[nodiscard]] std::string name_of(ElementShape shape);
/// What CUDA aligns an element to where it stands by itself, in a struct or among arguments, in bytes.
[[nodiscard]] std::int64_t alignment_of(ElementShape shape);

}  // namespace heddle
