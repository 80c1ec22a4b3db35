// Rows with labels or targets, read from a file. Formats: text separated by commas or blanks, with or without a header;
// IDX; the data files of FANN and of Toman (sample_file.hpp); gzip of any of these.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/runtime/data/input_coding.hpp"
#include "heddle/runtime/data/scaling.hpp"

namespace heddle {

enum class Task { classify, regress };

/// N rows of D inputs in the file's own units, and what is to be learnt of each.
struct Dataset {
  std::string source;  ///< the file's name, for messages
  Task task = Task::classify;
  std::int64_t dim = 0;              ///< D
  std::vector<float> inputs;         ///< N x D; empty where they are borrowed
  std::vector<std::int32_t> labels;  ///< classify: N indices into `classes`; empty if the file has none
  /// classify: sorted, by value if all are numbers; where each class has an output of its own in the file, in its
  /// order.
  std::vector<std::string> classes;
  std::vector<float> targets;             ///< regress: N x targets_per_row; empty if the file has none
  std::int64_t targets_per_row = 0;       ///< regress
  std::vector<std::string> input_names;   ///< D from the header; empty without one
  std::vector<std::string> target_names;  ///< the label columns' names from the header; empty without one
  /// In place of `inputs`: N x D of a caller, who keeps them alive and as they are while the dataset is used.
  std::span<const float> borrowed = {};
  /// Of a part of the rows of a source: what number each has there, from 1; empty where all are there.
  std::vector<std::int64_t> numbers = {};
  InputCoding coding;                ///< how columns of words became inputs; without columns if there are none
  std::vector<Range> input_ranges;   ///< D where the file declares them, else empty
  std::vector<Range> target_ranges;  ///< regress: of each target where the file declares them, else empty
  std::vector<std::string> remarks;  ///< lines that the user should see

  /// N x D, wherever they lie.
  [[nodiscard]] std::span<const float> values() const {
    return inputs.empty() ? borrowed : std::span<const float>(inputs);
  }
  [[nodiscard]] std::int64_t rows() const { return dim == 0 ? 0 : static_cast<std::int64_t>(values().size()) / dim; }
  /// For messages: the number of the row with this index in its source, from 1.
  [[nodiscard]] std::int64_t row_number(std::size_t index) const {
    return numbers.empty() ? static_cast<std::int64_t>(index) + 1 : numbers[index];
  }
  /// L: classes, or targets of a row.
  [[nodiscard]] std::int64_t outputs() const {
    return task == Task::classify ? static_cast<std::int64_t>(classes.size()) : targets_per_row;
  }
  [[nodiscard]] bool labelled() const { return !labels.empty() || !targets.empty(); }
  [[nodiscard]] std::span<const float> row(std::int64_t index) const {
    return values().subspan(static_cast<std::size_t>(index * dim), static_cast<std::size_t>(dim));
  }
};

/// The classes called `words`, in the order of their indices: by value if all are numbers, else as texts.
[[nodiscard]] std::vector<std::string> ordered_classes(std::vector<std::string> words);

/// A word that comes twice among `words`; null if there is none.
[[nodiscard]] const std::string* doubled(const std::vector<std::string>& words);

/// The properties that data read later must agree with: the training data, or the model made from it.
struct Expectation {
  std::int64_t dim = 0;
  std::vector<std::string> classes;  ///< classify
  std::int64_t targets_per_row = 0;  ///< regress
  InputCoding coding = {};           ///< of the columns that become `dim` inputs; without columns if all have numbers
  std::vector<std::string> input_names = {}, target_names = {};  ///< as in Dataset; empty where they are not known

  /// Columns of a text that are inputs.
  [[nodiscard]] std::int64_t input_columns() const {
    return coding.columns.empty() ? dim : static_cast<std::int64_t>(coding.columns.size());
  }
};
[[nodiscard]] Expectation expectation(const Dataset& train);

enum class Header {
  detect,  ///< line 1 is a header if none of its fields outside the label columns is a number, and an error if only
           ///< some are: what is meant must then be said
  present,
  absent,
};

enum class DataFormat { detect, table, idx, fann, toman };
/// Throws Error(usage) with the words there are.
[[nodiscard]] DataFormat parse_data_format(std::string_view word);

struct DataOptions {
  Task task = Task::classify;
  /// "first", "last", a column's number N from 1, a NAME in the header, or file:PATH (text with one row a line, or IDX,
  /// as many rows as the data). For regression also several: "3,4" or "price,weight". Empty: the last column of a
  /// text, nothing of an IDX file.
  std::string label = {};
  Header header = Header::detect;
  std::optional<Expectation> expected = {};
  /// Only with `expected`: a file with exactly the expected inputs and no `label` named is read without labels.
  bool labels_optional = false;
  DataFormat format = DataFormat::detect;  ///< detect: by the file's first lines
  /// What is done with words among the inputs of a text; not looked at with `expected`, which has it.
  Categories categories = Categories::refused;
  bool missing_is_category = false;  ///< see InputCoding
};

/// Throws Error(input) with one line "FILE:LINE:COLUMN: found 'x', expected ..." (column: the field's number from 1)
/// for a missing or non-numeric value, nan, infinity, a ragged row, no rows, one class only, a label outside the
/// expected classes, truncated or oversized files and the like; Error(usage) for a label option that makes no sense.
[[nodiscard]] Dataset load_dataset(const std::filesystem::path& file, const DataOptions& options = {});

}  // namespace heddle
