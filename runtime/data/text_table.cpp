#include "heddle/runtime/data/text_table.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/data/field.hpp"
#include "heddle/runtime/data/text_lines.hpp"
#include "heddle/runtime/data/word_columns.hpp"

namespace heddle {
namespace {

std::vector<bool> marks(const std::vector<std::int64_t>& columns, std::int64_t count) {
  std::vector<bool> marked(at(count), false);
  for (const std::int64_t column : columns) marked[at(column)] = true;
  return marked;
}

constexpr const char* kNumberOrWords = "a number, or --categories index or one-hot where columns have words";

/// A header has words in all columns but the labels'. Words in some of them are a mistake that only the user can name,
/// unless line 2 has words there as well.
bool looks_like_header(const Fields& fields, const Fields& second, const std::vector<bool>& is_label,
                       const std::string& source) {
  std::int64_t words = 0, others = 0, first_other = 0;
  for (std::int64_t j = 0; j < static_cast<std::int64_t>(fields.size()); ++j) {
    if (is_label[at(j)]) continue;
    if (is_word(bare(fields[at(j)]))) {
      ++words;
    } else if (others++ == 0) {
      first_other = j;
    }
  }
  if (words > 0 && others > 0) {
    std::int64_t first_word = 0;
    while (is_label[at(first_word)] || !is_word(bare(fields[at(first_word)]))) ++first_word;
    if (at(first_word) < second.size() && is_word(bare(second[at(first_word)]))) {
      refuse(place(source, 1, first_word + 1), in_quotes(fields[at(first_word)]), kNumberOrWords);
    }
    // The fewer are the more likely mistake.
    const std::int64_t odd = words <= others ? first_word : first_other;
    refuse(place(source, 1, odd + 1), field_text(fields[at(odd)]),
           "numbers only, or names only if line 1 is a header; say which with --header or --no-header");
  }
  return words > 0;
}

/// Where inputs may be words, only a line of words above one with a number is certain to be a header.
bool looks_like_header_of_words(const Fields& fields, const Fields& second, const std::vector<bool>& is_label,
                                const std::string& source) {
  bool numbers_below = false;
  for (std::size_t j = 0; j < fields.size(); ++j) {
    if (is_label[j]) continue;
    if (!is_word(bare(fields[j]))) return false;
    numbers_below |= j < second.size() && !is_word(bare(second[j]));
  }
  if (numbers_below) return true;
  refuse(source + ":1", "words in every input of lines 1 and 2",
         "to be told whether line 1 is a header: --header or --no-header");
}

/// Columns and header as lines 1 and 2 and the options tell.
TextTable open_table(const Fields& first, const Fields& second, const std::string& source, const LabelChoice& choice,
                     const TextFormat& format) {
  TextTable table;
  table.source = source;
  table.columns = static_cast<std::int64_t>(first.size());
  const std::vector<std::string> first_names = names_of(first);
  const bool unlabelled =
      format.label_columns == LabelColumns::none ||
      (format.label_columns == LabelColumns::chosen_unless_unlabelled && table.columns == format.expected_inputs);
  if (format.label_columns == LabelColumns::all) {
    for (std::int64_t j = 0; j < table.columns; ++j) table.label_columns.push_back(j);
  } else if (!unlabelled) {
    table.label_columns = choice.resolve(
        table.columns, format.header == Header::absent ? std::vector<std::string>{} : first_names, source);
  }
  const std::int64_t inputs = table.columns - static_cast<std::int64_t>(table.label_columns.size());
  if (inputs == 0 && format.label_columns != LabelColumns::all) {
    refuse(source + ":1", std::to_string(table.columns) + (table.columns == 1 ? " column" : " columns"),
           "at least one input beside the label");
  }
  bool header = format.header == Header::present;
  if (format.header == Header::detect && inputs > 0) {
    const std::vector<bool> is_label = marks(table.label_columns, table.columns);
    header = (choice.named() && !unlabelled) || (format.coding.categories == Categories::refused
                                                     ? looks_like_header(first, second, is_label, source)
                                                     : looks_like_header_of_words(first, second, is_label, source));
    table.header_detected = header;
  }
  if (header) {
    table.names = first_names;
    table.first_line = 2;
  }
  if (format.expected_inputs > 0 && inputs != format.expected_inputs) {
    refuse(source + ":1", std::to_string(inputs) + " inputs",
           std::to_string(format.expected_inputs) + " as in training");
  }
  return table;
}

/// `expected`: what to say that was expected of a word.
float number_in(std::string_view field, const std::string& source, std::int64_t line, std::int64_t column,
                const char* expected) {
  std::optional<float> value = parse_number(field);
  if (!value) value = parse_number(bare(field));  // in double quotes
  if (!value) {
    refuse(place(source, line, column), field_text(field), is_word(bare(field)) ? expected : "a finite number");
  }
  return *value;
}

/// The names of the columns that are no labels; empty without a header.
std::vector<std::string> names_of_inputs(const TextTable& table, const std::vector<bool>& is_label) {
  std::vector<std::string> names;
  for (std::size_t j = 0; j < table.names.size(); ++j) {
    if (!is_label[j]) names.push_back(table.names[j]);
  }
  return names;
}

}  // namespace

std::string TextTable::label_place(std::int64_t row, std::int64_t label) const {
  return place(source, first_line + row, label_columns[at(label)] + 1);
}

TextTable read_text(std::string_view bytes, const std::string& source, const LabelChoice& choice,
                    const TextFormat& format) {
  Lines lines(bytes);
  if (lines.done()) refuse(source, "no rows", "rows of numbers");
  const std::int64_t line_count = lines.count();
  std::string_view line = lines.next();
  const bool commas = line.find(',') != std::string_view::npos;
  Fields fields;
  split(line, commas, fields);
  if (fields.empty()) refuse(place(source, 1, 1), "an empty line", "a row of numbers or a header");
  Fields second;
  if (Lines ahead = lines; !ahead.done()) split(ahead.next(), commas, second);
  TextTable table = open_table(fields, second, source, choice, format);
  const auto label_count = static_cast<std::int64_t>(table.label_columns.size());
  const std::int64_t expected_rows = line_count - (table.first_line - 1);
  if (expected_rows == 0) refuse(source, "a header and no rows", "rows of numbers");

  const std::vector<bool> is_label = marks(table.label_columns, table.columns);
  table.inputs.reserve(at(
      std::min<std::int64_t>(expected_rows * (table.columns - label_count), static_cast<std::int64_t>(bytes.size()))));
  std::optional<WordColumns> words;
  if (format.coding.categories != Categories::refused) {
    words.emplace(format.coding, source, table.columns - label_count);
  }
  for (std::int64_t number = 1;; ++number) {
    if (number >= table.first_line) {
      if (static_cast<std::int64_t>(fields.size()) != table.columns)
        refuse_ragged(table.source, table.columns, number, fields);
      // A word in the first row is hardly a mistake: the column has words.
      const char* const expected =
          number == table.first_line && format.expected_inputs == 0 ? kNumberOrWords : "a finite number";
      for (std::int64_t j = 0, input = 0; j < table.columns; ++j) {
        if (is_label[at(j)]) continue;
        table.inputs.push_back(words ? words->take(input++, fields[at(j)], number, j + 1)
                                     : number_in(fields[at(j)], source, number, j + 1, expected));
      }
      for (const std::int64_t column : table.label_columns) table.labels.push_back(table.texts.of(fields[at(column)]));
      ++table.rows;
    }
    if (lines.done()) break;
    line = lines.next();
    split(line, commas, fields);
  }
  if (words) {
    table.inputs = words->encode(std::move(table.inputs), names_of_inputs(table, is_label));
    table.coding = words->coding();
    table.remark = words->remark();
  }
  return table;
}

}  // namespace heddle
