#include "heddle/kernels/own/element_type.hpp"

#include <algorithm>
#include <array>

namespace heddle {

namespace {

struct TypeEntry {
  ElementType type;
  std::string_view name;
  std::int64_t bytes;
  std::string_view vector;  ///< CUDA's vectors of it begin with this
};

constexpr std::array<TypeEntry, 12> kTypes{{{ElementType::uint8, "uint8", 1, "uchar"},
                                            {ElementType::int32, "int32", 4, "int"},
                                            {ElementType::uint32, "uint32", 4, "uint"},
                                            {ElementType::int64, "int64", 8, "longlong"},
                                            {ElementType::uint64, "uint64", 8, "ulonglong"},
                                            {ElementType::float32, "float32", 4, "float"},
                                            {ElementType::float64, "float64", 8, "double"},
                                            {ElementType::int8, "int8", 1, "char"},
                                            {ElementType::int16, "int16", 2, "short"},
                                            {ElementType::uint16, "uint16", 2, "ushort"},
                                            {ElementType::float16, "float16", 2, "half"},
                                            {ElementType::bfloat16, "bfloat16", 2, "__nv_bfloat16"}}};

const TypeEntry& entry_of(ElementType type) { return *std::ranges::find(kTypes, type, &TypeEntry::type); }

}  // namespace

std::string_view name_of(ElementType type) { return entry_of(type).name; }

std::int64_t size_of(ElementType type) { return entry_of(type).bytes; }

bool is_real(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float64 || type == ElementType::float16 ||
         type == ElementType::bfloat16;
}

std::optional<ElementShape> find_shape(std::string_view name) {
  if (const auto* found = std::ranges::find(kTypes, name, &TypeEntry::name); found != kTypes.end()) {
    return ElementShape{found->type, 1};
  }
  if (name == "float") return ElementShape{ElementType::float32, 1};
  if (name == "double") return ElementShape{ElementType::float64, 1};
  if (name == "int") return ElementShape{ElementType::int32, 1};
  if (name == "unsigned") return ElementShape{ElementType::uint32, 1};
  if (name == "half" || name == "__half") return ElementShape{ElementType::float16, 1};
  if (name == "__half2") return ElementShape{ElementType::float16, 2};
  if (name == "__nv_bfloat16") return ElementShape{ElementType::bfloat16, 1};
  if (name.empty() || name.back() < '2' || name.back() > '4') return std::nullopt;
  const auto* found = std::ranges::find(kTypes, name.substr(0, name.size() - 1), &TypeEntry::vector);
  if (found == kTypes.end()) return std::nullopt;
  if (found->bytes == 2 && is_real(found->type) && name.back() != '2') return std::nullopt;  // CUDA has no such vector
  return ElementShape{found->type, name.back() - '0'};
}

std::string name_of(ElementShape shape) {
  if (shape.lanes == 1) return std::string(name_of(shape.type));
  return std::string(entry_of(shape.type).vector) + static_cast<char>('0' + shape.lanes);
}

std::int64_t alignment_of(ElementShape shape) {
  constexpr std::int64_t kMost = 16;
  const std::int64_t bytes = size_of(shape.type);
  return shape.lanes == 3 ? bytes : std::min(kMost, shape.lanes * bytes);
}

}  // namespace heddle
