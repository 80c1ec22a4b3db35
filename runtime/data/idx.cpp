#include "heddle/runtime/data/idx.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "heddle/kernels/error.hpp"
#include "heddle/runtime/data/field.hpp"

namespace heddle {
namespace {

/// Unsigned big-endian integer of `size` bytes.
std::uint64_t big_endian(std::string_view bytes, std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[offset + i]);
  return value;
}

std::size_t element_size(unsigned type) {
  switch (type) {
    case 0x08:
    case 0x09:
      return 1;
    case 0x0b:
      return 2;
    case 0x0c:
    case 0x0d:
      return 4;
    case 0x0e:
      return 8;
    default:
      return 0;
  }
}

double element(unsigned type, std::uint64_t bits) {
  switch (type) {
    case 0x09:
      return static_cast<std::int8_t>(bits);
    case 0x0b:
      return static_cast<std::int16_t>(bits);
    case 0x0c:
      return static_cast<std::int32_t>(bits);
    case 0x0d:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case 0x0e:
      return std::bit_cast<double>(bits);
    default:
      return static_cast<double>(bits);
  }
}

}  // namespace

bool is_idx(std::string_view bytes) {
  return bytes.size() >= 4 && bytes[0] == '\0' && bytes[1] == '\0' && bytes[2] >= 0x08 && bytes[2] <= 0x0e;
}

template <class T>
IdxArray<T> read_idx(std::string_view bytes, const std::string& source) {
  const auto type = static_cast<unsigned char>(bytes[2]);
  const auto dimensions = static_cast<std::size_t>(static_cast<unsigned char>(bytes[3]));
  const std::size_t size = element_size(type);
  if (size == 0) refuse(source, "an IDX file of type " + std::to_string(type), "8, 9, 11, 12, 13 or 14");
  if (dimensions == 0) refuse(source, "an IDX file without dimensions", "at least one");
  const std::size_t header = 4 + 4 * dimensions;
  if (bytes.size() < header) refuse(source, "an IDX file that ends in its header", "all of it");

  IdxArray<T> array{.shape = {}, .whole = type < 0x0d, .values = {}};
  const std::uint64_t present = bytes.size() - header;
  std::uint64_t claimed = size;
  bool overflow = false;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::uint64_t extent = big_endian(bytes, 4 + 4 * i, 4);
    if (extent == 0) refuse(source, "an IDX file without rows", "at least one row of at least one value");
    array.shape.push_back(static_cast<std::int64_t>(extent));
    overflow = overflow || claimed > std::numeric_limits<std::uint64_t>::max() / extent;
    claimed *= extent;
  }
  if (overflow || claimed != present) {
    refuse(source, "an IDX header that claims " + (overflow ? "more than 2^64" : std::to_string(claimed)) + " bytes",
           "the " + std::to_string(present) + " bytes that follow it");
  }

  array.values.resize(present / size);
  if (type == 0x08) {  // images: the one type for which time matters
    const auto* from = reinterpret_cast<const unsigned char*>(bytes.data() + header);
    std::copy(from, from + present, array.values.begin());
    return array;
  }
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    const double value = element(type, big_endian(bytes, header + i * size, size));
    if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()))) {
      refuse(source, "value " + std::to_string(i + 1) + " out of range", "a finite number");
    }
    array.values[i] = static_cast<T>(value);
  }
  return array;
}

template IdxArray<float> read_idx(std::string_view, const std::string&);
template IdxArray<double> read_idx(std::string_view, const std::string&);

}  // namespace heddle
