// Values as Memory::write() takes them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace heddle {

template <class T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}
template <class T>
std::span<const std::byte> bytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace heddle
