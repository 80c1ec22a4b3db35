#include "heddle/runtime/fuzzy/array_layout.hpp"

#include <fmt/format.h>

#include <cstring>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/fuzzy/faults.hpp"

namespace heddle::fuzzy {
namespace {

template <class Rule, class T>
void require_all(std::span<const std::byte> array, const ArrayShape& shape, std::int64_t first) {
  const auto width = static_cast<std::size_t>(shape.components());
  std::vector<T> number(width);
  for (std::int64_t i = 0; i < shape.numbers; ++i) {
    std::memcpy(number.data(), array.data() + static_cast<std::size_t>(i) * width * sizeof(T), width * sizeof(T));
    if (const char* const fault = Rule::fault(number.data(), static_cast<int>(width))) {
      throw Error(ErrorKind::input, fmt::format("fuzzy array: number {} has {}", first + i, fault));
    }
  }
}

}  // namespace

std::vector<std::byte> in_layout(std::span<const std::byte> array, ArrayShape shape, Layout layout) {
  if (layout == shape.layout) return {array.begin(), array.end()};
  std::vector<std::byte> result(array.size());
  ArrayShape other = shape;
  other.layout = layout;
  const std::size_t bytes = shape.is_double() ? sizeof(double) : sizeof(float);
  for (std::int64_t i = 0; i < shape.numbers; ++i) {
    for (std::int64_t c = 0; c < shape.components(); ++c) {
      std::memcpy(result.data() + static_cast<std::size_t>(other.place(i, c)) * bytes,
                  array.data() + static_cast<std::size_t>(shape.place(i, c)) * bytes, bytes);
    }
  }
  return result;
}

void require_fuzzy_numbers(std::span<const std::byte> array, const ArrayShape& shape, std::int64_t first) {
  const auto require = [&]<class Rule>(Rule) {
    shape.is_double() ? require_all<Rule, double>(array, shape, first) : require_all<Rule, float>(array, shape, first);
  };
  shape.encoding == Encoding::lower_upper ? require(BoundsRule()) : require(RadiiRule());
}

}  // namespace heddle::fuzzy
