// Words and missing values among the inputs of a text while it is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heddle/runtime/data/field.hpp"
#include "heddle/runtime/data/input_coding.hpp"

namespace heddle {

/// Takes the fields of all rows, then says how they are coded. Views of fields must stay valid until then.
class WordColumns {
 public:
  /// `asked`: what the user wants of words; where it has columns, they are those of the training rows, and words are
  /// looked up among their categories. `columns`: inputs in a row of the text.
  WordColumns(const InputCoding& asked, std::string source, std::int64_t columns);

  /// The field of an input column (from 0) that stands at line and field of the text (from 1). Returns the number, or
  /// a stand-in that encode() replaces. Throws Error(input) with its place where it can be neither a number nor a word.
  [[nodiscard]] float take(std::int64_t column, std::string_view field, std::int64_t line, std::int64_t place);

  /// Called once, after the last row: `taken` has what take() returned, row by row; returns the inputs of the network.
  /// `names`: of the columns, or empty. Throws Error(input): columns of both numbers and words, missing values that are
  /// no category, by the names of their columns; more categories than a column may have.
  [[nodiscard]] std::vector<float> encode(std::vector<float> taken, const std::vector<std::string>& names);
  /// After encode(): without columns if all of them are numbers.
  [[nodiscard]] const InputCoding& coding() const { return coding_; }
  /// After encode(): a line about categories that the training rows do not have; empty if there is none.
  [[nodiscard]] const std::string& remark() const { return remark_; }

 private:
  struct Place {
    std::int64_t line = 0, field = 0;
  };
  struct Column {
    std::unordered_map<std::string_view, std::int32_t> index;  // of words: order of their first appearance, or known
    std::vector<std::string_view> words;                       // in that order
    std::int64_t numbers = 0, word_rows = 0, missing = 0;
    Place first_number, first_word, first_missing;
    std::string_view number, word;  // the first ones
  };

  [[nodiscard]] std::string at_place(Place place) const;
  void refuse_missing(const std::vector<std::string>& names) const;
  void refuse_mixed(const Column& column) const;
  void find_categories();
  [[nodiscard]] float unseen(const Column& column, std::size_t index, std::string_view field, Place place);

  InputCoding coding_;
  bool known_;  // the categories are those of the training rows
  std::string source_;
  FieldTexts texts_;  // of words that do not stand in the file as they are
  std::vector<Column> columns_;
  std::vector<std::vector<float>> ranks_;  // of each column: stand-in to place among the sorted categories
  std::int64_t unseen_ = 0;
  std::string first_unseen_, remark_;
};

}  // namespace heddle
