// Numeric text: fields separated by commas, or by blanks if line 1 has no comma; one row a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/data/field.hpp"
#include "heddle/runtime/data/label_choice.hpp"

namespace heddle {

struct TextTable {
  std::string source;
  std::vector<std::string> names;  ///< of all columns; empty without a header
  bool header_detected = false;    ///< by its looks, not because somebody said so
  std::int64_t first_line = 1;     ///< line of row 0; rows follow line by line
  std::int64_t rows = 0;           ///< N
  std::int64_t columns = 0;
  std::vector<std::int64_t> label_columns;  ///< indices from 0
  std::vector<float> inputs;                ///< N x D, of the columns that are no labels
  InputCoding coding;                       ///< of these columns; without columns if all have numbers
  std::string remark;                       ///< a line for the user; empty if there is nothing to say
  FieldTexts texts;                         ///< of the labels that do not stand in the bytes as they are
  std::vector<std::string_view> labels;     ///< N x label_columns, into the bytes that were read, or into `texts`

  /// "FILE:LINE:COLUMN" of a label.
  [[nodiscard]] std::string label_place(std::int64_t row, std::int64_t label) const;
};

/// How to find the label columns once the number of columns is known.
enum class LabelColumns {
  chosen,                    ///< as the choice says
  all,                       ///< every column: a file of labels; it has no header
  none,                      ///< no column
  chosen_unless_unlabelled,  ///< as the choice says, unless there are exactly as many columns as inputs expected
};

struct TextFormat {
  Header header = Header::detect;
  LabelColumns label_columns = LabelColumns::chosen;
  std::int64_t expected_inputs = 0;  ///< columns of inputs; 0: any number
  InputCoding coding = {};           ///< what is to be done with words; with columns: those of the training rows
};

/// Throws Error(input) as load_dataset() says. The labels point into `bytes` and into the table.
[[nodiscard]] TextTable read_text(std::string_view bytes, const std::string& source, const LabelChoice& choice,
                                  const TextFormat& format);

}  // namespace heddle
