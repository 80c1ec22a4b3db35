// IDX files: big-endian arrays of any number of dimensions (Y. LeCun, the format of MNIST).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

template <class T>
struct IdxArray {
  std::vector<std::int64_t> shape;  ///< at least one dimension; the first counts the rows
  bool whole = true;                ///< an integer type
  std::vector<T> values;            ///< product of the shape

  [[nodiscard]] std::int64_t rows() const { return shape.front(); }
  [[nodiscard]] std::int64_t row_size() const {
    return rows() == 0 ? 0 : static_cast<std::int64_t>(values.size()) / rows();
  }
};

[[nodiscard]] bool is_idx(std::string_view bytes);
/// Throws Error(input) beginning with `source` for an unknown type, sizes that are not those of the file, no rows, or
/// numbers that are not finite in float32. Allocates nothing before the sizes are known to be true.
/// `T`: float, as inputs are, or double, which keeps every whole number of the file, as labels need.
template <class T>
[[nodiscard]] IdxArray<T> read_idx(std::string_view bytes, const std::string& source);

}  // namespace heddle
