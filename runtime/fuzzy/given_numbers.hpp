// Numbers that a program has in the memory of a device already.
#pragma once

#include <cstdint>
#include <utility>

#include "heddle/runtime/device/loaded_kernel.hpp"

namespace heddle::fuzzy {

/// Rows and columns of floats (32 bits) or doubles (64). The memory is the caller's, and only read.
struct GivenNumbers {
  const void* address = nullptr;  ///< of row 0, column 0, as kernels see it
  std::int64_t rows = 0, columns = 1;
  std::int64_t row_stride = 0, column_stride = 0;  ///< bytes, of any sign; 0: the same numbers again
  std::int64_t bits = 64;
  Stream stream = {};  ///< on which the numbers are written, and may be written again after a call

  [[nodiscard]] std::int64_t count() const { return rows * columns; }
  [[nodiscard]] std::int64_t element() const { return bits / 8; }
  [[nodiscard]] std::int64_t bytes() const { return count() * element(); }
};

/// From the lowest byte to behind the highest one.
struct ByteSpan {
  std::int64_t start = 0;  ///< of row 0, column 0, behind the lowest byte
  std::int64_t bytes = 0;
};
[[nodiscard]] inline ByteSpan span_of(const GivenNumbers& given) {
  ByteSpan span{.start = 0, .bytes = given.element()};
  for (const auto& [count, stride] :
       {std::pair(given.rows, given.row_stride), std::pair(given.columns, given.column_stride)}) {
    const std::int64_t reach = (count - 1) * stride;
    span.start += reach < 0 ? -reach : 0;
    span.bytes += reach < 0 ? -reach : reach;
  }
  return span;
}

}  // namespace heddle::fuzzy
