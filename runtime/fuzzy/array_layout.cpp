#include "heddle/runtime/fuzzy/array_layout.hpp"

#include <fmt/format.h>

#include <cstring>

#include "heddle/kernels/error.hpp"

namespace heddle::fuzzy {
namespace {

/// What is wrong with a number of these components; nothing if it is one.
template <class T>
const char* fault_of(std::span<const T> number, Encoding encoding) {
  for (const T component : number) {
    if (component != component) return "nan";
  }
  if (encoding == Encoding::lower_upper) {
    for (std::size_t c = 0; c < number.size(); c += 2) {
      const T lower = number[c], upper = number[c + 1];
      if (lower > upper) return "a lower bound above the upper one";
      // Operations take infinite bounds as those of the whole line.
      if (lower == Traits<T>::infinity) return "a lower bound of inf";
      if (upper == -Traits<T>::infinity) return "an upper bound of -inf";
      if ((lower == -Traits<T>::infinity) != (upper == Traits<T>::infinity)) {
        return "one infinite bound, which the whole line alone has";
      }
      if (c > 0 && (number[c] < number[c - 2] || number[c + 1] > number[c - 1]))
        return "a cut outside of the one before";
    }
    return nullptr;
  }
  if (magnitude(number[0]) == Traits<T>::infinity) return "an infinite midpoint";
  for (std::size_t c = 1; c < number.size(); ++c) {
    if (number[c] < T(0)) return "a radius below 0";
    if (c > 1 && number[c] > number[c - 1]) return "a cut outside of the one before";
  }
  return nullptr;
}

template <class T>
void require_all(std::span<const std::byte> array, const ArrayShape& shape) {
  const auto width = static_cast<std::size_t>(shape.components());
  std::vector<T> number(width);
  for (std::int64_t i = 0; i < shape.numbers; ++i) {
    std::memcpy(number.data(), array.data() + static_cast<std::size_t>(i) * width * sizeof(T), width * sizeof(T));
    if (const char* const fault = fault_of<T>(number, shape.encoding)) {
      throw Error(ErrorKind::input, fmt::format("fuzzy array: number {} has {}", i, fault));
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

void require_fuzzy_numbers(std::span<const std::byte> array, const ArrayShape& shape) {
  shape.is_double() ? require_all<double>(array, shape) : require_all<float>(array, shape);
}

}  // namespace heddle::fuzzy
