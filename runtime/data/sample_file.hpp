// Data files that say themselves how many rows, inputs and outputs they have: those of FANN (its reference manual,
// "Training Data") and of Toman's program (docs/formats.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/runtime/data/dataset.hpp"

namespace heddle {

struct SampleFile {
  std::string source;
  std::int64_t dim = 0, outputs_per_row = 0;
  std::vector<float> inputs;              ///< N x dim
  std::vector<std::string_view> outputs;  ///< N x outputs_per_row: finite numbers, as they stand in the bytes read
  std::vector<std::int64_t> output_line, output_field;  ///< of each output, from 1
  std::vector<std::string> input_names, output_names;   ///< empty in FANN's format
  std::vector<Range> input_ranges, output_ranges;       ///< empty in FANN's format
  std::string remark;                                   ///< a line for the user; empty if there is nothing to say

  /// "FILE:LINE:COLUMN"
  [[nodiscard]] std::string place_of_output(std::size_t index) const;
};

/// Whether the first lines are those of such a file rather than of a table.
[[nodiscard]] bool looks_like_fann(std::string_view bytes);
[[nodiscard]] bool looks_like_toman(std::string_view bytes);

/// Both throw Error(input) with line and column for what is no number, and for counts that are not those of the file.
[[nodiscard]] SampleFile read_fann(std::string_view bytes, const std::string& source);
/// A line that begins with # is a comment. Numbers outside the range of their column are a remark.
[[nodiscard]] SampleFile read_toman(std::string_view bytes, const std::string& source);

/// The same formats, and a table with a header: classes are written as an output of 0 or 1 for each, in a table as
/// their names. Numbers are the shortest that read back as the same.
[[nodiscard]] std::string fann_text(const Dataset& data);
[[nodiscard]] std::string toman_text(const Dataset& data);
[[nodiscard]] std::string table_text(const Dataset& data);

}  // namespace heddle
