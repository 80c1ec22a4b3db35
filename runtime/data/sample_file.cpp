#include "heddle/runtime/data/sample_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_set>
#include <utility>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/data/field.hpp"
#include "heddle/runtime/data/text_lines.hpp"

namespace heddle {

namespace {

std::optional<std::int64_t> count_in(std::string_view field) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || value < 1) return std::nullopt;
  return value;
}

float sample_number(std::string_view field, const std::string& source, std::int64_t line, std::int64_t column) {
  const std::optional<float> value = parse_number(field);
  if (!value) refuse(place(source, line, column), in_quotes(field), "a finite number");
  return *value;
}

bool is_comment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos || line[first] == '#';
}

/// Lines that are neither comments nor empty, with their numbers.
class Content {
 public:
  explicit Content(std::string_view bytes) : lines_(bytes) { skip(); }
  [[nodiscard]] bool done() const { return !found_; }
  /// Of the line that next() gives.
  [[nodiscard]] std::int64_t number() const { return number_; }
  std::string_view next() {
    const std::string_view line = line_;
    last_ = number_;
    skip();
    return line;
  }
  [[nodiscard]] std::int64_t last() const { return last_; }

 private:
  void skip() {
    found_ = false;
    while (!lines_.done() && !found_) {
      line_ = lines_.next();
      ++number_;
      found_ = !is_comment(line_);
    }
  }

  Lines lines_;
  std::string_view line_;
  std::int64_t number_ = 0, last_ = 0;
  bool found_ = false;
};

Fields blank_fields(std::string_view line) {
  Fields fields;
  split(line, false, fields);
  return fields;
}

/// The three whole numbers of FANN's first line.
std::optional<std::vector<std::int64_t>> fann_counts(std::string_view line) {
  const Fields fields = blank_fields(line);
  if (fields.size() != 3) return std::nullopt;
  std::vector<std::int64_t> counts;
  for (const std::string_view field : fields) {
    const std::optional<std::int64_t> count = count_in(field);
    if (!count) return std::nullopt;
    counts.push_back(*count);
  }
  return counts;
}

bool is_declaration(const Fields& fields) {
  return fields.size() == 3 && parse_number(fields[1]) && parse_number(fields[2]);
}

/// One section of Toman's file: how many columns, then a name, a smallest and a largest number for each.
std::int64_t read_columns(Content& content, const std::string& source, const char* what,
                          std::vector<std::string>& names, std::vector<Range>& ranges) {
  if (content.done()) refuse(source, "the end of the file", fmt::format("the number of {}", what));
  const std::int64_t line = content.number();
  const Fields head = blank_fields(content.next());
  const std::optional<std::int64_t> count = head.size() == 1 ? count_in(head[0]) : std::nullopt;
  if (!count)
    refuse(place(source, line, 1), in_quotes(head[0]), fmt::format("the number of {} on a line of its own", what));
  for (std::int64_t j = 0; j < *count; ++j) {
    const std::string expected =
        fmt::format("a name, a smallest and a largest number: {} {} as line {} says", *count, what, line);
    if (content.done()) refuse(place(source, content.last() + 1, 1), "the end of the file", expected);
    const std::int64_t at_line = content.number();
    const Fields fields = blank_fields(content.next());
    if (!is_declaration(fields)) refuse(place(source, at_line, 1), in_quotes(fields[0]), expected);
    const Range range{sample_number(fields[1], source, at_line, 2), sample_number(fields[2], source, at_line, 3)};
    if (!(range.low < range.high))
      refuse(place(source, at_line, 3), in_quotes(fields[2]), "more than the smallest number");
    names.emplace_back(fields[0]);
    ranges.push_back(range);
  }
  return *count;
}

/// A row of Toman's file: the fields before and after the stroke.
void read_row(std::string_view line, std::int64_t number, SampleFile& file) {
  Fields fields = blank_fields(line);
  const auto stroke = std::ranges::find(fields, std::string_view("|"));
  const auto inputs = stroke - fields.begin(), outputs = std::max<std::ptrdiff_t>(fields.end() - stroke - 1, 0);
  if (stroke == fields.end() || inputs != file.dim) {
    const std::int64_t odd = std::min<std::int64_t>(inputs, file.dim);
    refuse(place(file.source, number, odd + 1),
           at(odd) < fields.size() ? in_quotes(fields[at(odd)]) : "the end of the line",
           inputs > file.dim || stroke == fields.end() ? fmt::format("'|' after {} inputs", file.dim)
                                                       : fmt::format("{} inputs before '|'", file.dim));
  }
  if (outputs != file.outputs_per_row) {
    refuse(place(file.source, number, inputs + 2 + std::min<std::int64_t>(outputs, file.outputs_per_row)),
           outputs < file.outputs_per_row ? "the end of the line"
                                          : in_quotes(fields[at(inputs + 1 + file.outputs_per_row)]),
           fmt::format("{} outputs", file.outputs_per_row));
  }
  for (std::ptrdiff_t j = 0; j < inputs; ++j) {
    file.inputs.push_back(sample_number(fields[at(j)], file.source, number, j + 1));
  }
  for (std::ptrdiff_t l = 0; l < outputs; ++l) {
    const std::string_view field = fields[at(inputs + 1 + l)];
    (void)sample_number(field, file.source, number, inputs + 2 + l);
    file.outputs.push_back(field);
    file.output_line.push_back(number);
    file.output_field.push_back(inputs + 2 + l);
  }
}

void remark_outside(SampleFile& file) {
  std::size_t outside = 0;
  const auto count = [&](float value, const Range& range) {
    outside += value < range.low || value > range.high ? 1 : 0;
  };
  for (std::size_t i = 0; i < file.inputs.size(); ++i) count(file.inputs[i], file.input_ranges[i % at(file.dim)]);
  for (std::size_t i = 0; i < file.outputs.size(); ++i) {
    count(parse_number(file.outputs[i]).value_or(0.0F), file.output_ranges[i % at(file.outputs_per_row)]);
  }
  if (outside == 0) return;
  file.remark = fmt::format("{}: {} number{} outside the smallest and largest that {} column declares", file.source,
                            outside, outside == 1 ? " is" : "s are", outside == 1 ? "its" : "their");
}

/// Numbers of a file of FANN's, whatever lines they are on, as FANN reads them.
class Numbers {
 public:
  Numbers(Lines lines, std::string source) : lines_(lines), source_(std::move(source)) {}
  [[nodiscard]] bool done() {
    while (next_ == fields_.size() && !lines_.done()) {
      split(lines_.next(), false, fields_);
      next_ = 0;
      ++line_;
    }
    return next_ == fields_.size();
  }
  std::string_view take() {
    const std::string_view field = fields_[next_++];
    (void)sample_number(field, source_, line_, column());
    return field;
  }
  [[nodiscard]] std::int64_t line() const { return line_; }
  [[nodiscard]] std::int64_t column() const { return static_cast<std::int64_t>(next_); }  ///< of what take() gave
  [[nodiscard]] std::int64_t fields_of_line() const { return static_cast<std::int64_t>(fields_.size()); }

 private:
  Lines lines_;
  std::string source_;
  Fields fields_;
  std::size_t next_ = 0;
  std::int64_t line_ = 1;
};

/// "0" or "1" for each class, or the targets, of one row.
void append_outputs(std::string& text, const Dataset& data, std::int64_t row) {
  const std::int64_t outputs = data.outputs();
  for (std::int64_t l = 0; l < outputs; ++l) {
    if (l > 0) text += ' ';
    if (data.task == Task::classify) {
      text += data.labels[at(row)] == l ? '1' : '0';
    } else {
      fmt::format_to(std::back_inserter(text), "{}", data.targets[at(row * outputs + l)]);
    }
  }
}

void append_inputs(std::string& text, const Dataset& data, std::int64_t row, char between) {
  bool first = true;
  for (const float value : data.row(row)) {
    if (!first) text += between;
    first = false;
    fmt::format_to(std::back_inserter(text), "{}", value);
  }
}

/// A name without blanks, which would end it.
std::string one_word(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == ' ' || c == '\t' || c == '|' || c == '#'; }, '_');
  return name;
}

/// Words for all columns, each once: a reader tells columns apart by them. Names that are words already stay as they
/// are; of others that become alike, all but the first get a number.
std::vector<std::string> column_words(const std::vector<std::string>& names, const char* letter, std::size_t columns) {
  std::vector<std::string> words(columns);
  std::unordered_set<std::string> taken;
  for (const bool unchanged : {true, false}) {
    for (std::size_t j = 0; j < columns; ++j) {
      if (!words[j].empty()) continue;
      const std::string name = j < names.size() && !names[j].empty() ? names[j] : fmt::format("{}{}", letter, j + 1);
      std::string word = one_word(name);
      if (unchanged && (word != name || taken.contains(word))) continue;
      for (int n = 2; !taken.insert(word).second; ++n) word = fmt::format("{}_{}", one_word(name), n);
      words[j] = std::move(word);
    }
  }
  return words;
}

void append_columns(std::string& text, const std::vector<std::string>& names, const char* letter,
                    const std::vector<Range>& ranges) {
  text += fmt::format("{}\n", ranges.size());
  const std::vector<std::string> words = column_words(names, letter, ranges.size());
  for (std::size_t j = 0; j < ranges.size(); ++j) {
    text += fmt::format("{} {} {}\n", words[j], ranges[j].low, ranges[j].high);
  }
}

/// Declared, or else those of the rows; a constant column gets room above it.
std::vector<Range> ranges_of(const std::vector<Range>& declared, const std::vector<float>& values,
                             std::int64_t columns) {
  if (!declared.empty()) return declared;
  std::vector<Range> ranges(at(columns));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Range& range = ranges[i % ranges.size()];
    const bool first = i < ranges.size();
    range.low = first ? values[i] : std::min(range.low, values[i]);
    range.high = first ? values[i] : std::max(range.high, values[i]);
  }
  for (Range& range : ranges) {
    if (range.low == range.high) range.high = range.low + std::max(1.0F, std::abs(range.low));
  }
  return ranges;
}

}  // namespace

std::string SampleFile::place_of_output(std::size_t index) const {
  return place(source, output_line[index], output_field[index]);
}

bool looks_like_fann(std::string_view bytes) {
  Lines lines(bytes);
  if (lines.done()) return false;
  const std::int64_t line_count = lines.count();
  const auto counts = fann_counts(lines.next());
  if (!counts || lines.done()) return false;
  const std::int64_t rows = (*counts)[0], inputs = (*counts)[1], outputs = (*counts)[2];
  const auto second = static_cast<std::int64_t>(blank_fields(lines.next()).size());
  const auto third = lines.done() ? 0 : static_cast<std::int64_t>(blank_fields(lines.next()).size());
  // A table has three fields in every line.
  if (second == 3 && (third == 3 || third == 0)) return inputs == 3 && outputs == 3 && line_count == 1 + 2 * rows;
  return (second == inputs && third == outputs) || line_count == 1 + 2 * rows;
}

bool looks_like_toman(std::string_view bytes) {
  if (bytes.starts_with("#Training set") || bytes.starts_with("# Training set")) return true;
  Content content(bytes);
  if (content.done()) return false;
  const Fields head = blank_fields(content.next());
  if (head.size() != 1 || !count_in(head[0]) || content.done()) return false;
  return is_declaration(blank_fields(content.next()));
}

SampleFile read_fann(std::string_view bytes, const std::string& source) {
  Lines lines(bytes);
  const std::int64_t line_count = lines.count();
  const auto counts = lines.done() ? std::nullopt : fann_counts(lines.next());
  if (!counts) refuse(place(source, 1, 1), "something else", "three whole numbers: rows, inputs and outputs");
  const std::int64_t rows = (*counts)[0];
  SampleFile file;
  file.source = source;
  file.dim = (*counts)[1];
  file.outputs_per_row = (*counts)[2];
  // A number takes a character and a blank: nothing is allocated for counts that cannot be true.
  const auto most = static_cast<std::int64_t>(bytes.size()) / 2 + 1;
  if (rows > most || file.dim > most || file.outputs_per_row > most ||
      rows > most / (file.dim + file.outputs_per_row)) {
    refuse(place(source, 1, 1),
           fmt::format("{} rows of {} inputs and {} outputs announced", rows, file.dim, file.outputs_per_row),
           "no more than the file holds");
  }
  file.inputs.reserve(at(rows * file.dim));
  // Where each row has two lines, a wrong count is found in the first of them rather than at the end.
  const bool by_lines = line_count == 1 + 2 * rows;
  Numbers numbers(lines, source);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const auto& [count, what] : {std::pair(file.dim, "inputs"), std::pair(file.outputs_per_row, "outputs")}) {
      for (std::int64_t j = 0; j < count; ++j) {
        if (numbers.done()) {
          refuse(
              place(source, line_count, 1), fmt::format("the end of the file in row {}", row + 1),
              fmt::format("{} rows of {} inputs and {} outputs, as line 1 says", rows, file.dim, file.outputs_per_row));
        }
        const std::string_view field = numbers.take();
        if (by_lines && j == 0 && (numbers.column() != 1 || numbers.fields_of_line() != count)) {
          refuse(place(source, numbers.line(), 1), fmt::format("{} numbers", numbers.fields_of_line()),
                 fmt::format("{} {}, as line 1 says", count, what));
        }
        if (what == std::string_view("inputs")) {
          file.inputs.push_back(*parse_number(field));
        } else {
          file.outputs.push_back(field);
          file.output_line.push_back(numbers.line());
          file.output_field.push_back(numbers.column());
        }
      }
    }
  }
  if (!numbers.done()) {
    const std::string_view field = numbers.take();
    refuse(place(source, numbers.line(), numbers.column()), in_quotes(field),
           fmt::format("the end of the file after {} rows, as line 1 says", rows));
  }
  return file;
}

SampleFile read_toman(std::string_view bytes, const std::string& source) {
  SampleFile file;
  file.source = source;
  Content content(bytes);
  file.dim = read_columns(content, source, "inputs", file.input_names, file.input_ranges);
  file.outputs_per_row = read_columns(content, source, "outputs", file.output_names, file.output_ranges);
  if (content.done()) refuse(place(source, content.last() + 1, 1), "the end of the file", "the number of patterns");
  const std::int64_t line = content.number();
  const Fields head = blank_fields(content.next());
  const std::optional<std::int64_t> rows = head.size() == 1 ? count_in(head[0]) : std::nullopt;
  if (!rows) refuse(place(source, line, 1), in_quotes(head[0]), "the number of patterns on a line of its own");
  for (std::int64_t row = 0; row < *rows; ++row) {
    if (content.done()) {
      refuse(place(source, content.last() + 1, 1), fmt::format("the end of the file after {} patterns", row),
             fmt::format("{} as line {} says", *rows, line));
    }
    const std::int64_t number = content.number();
    read_row(content.next(), number, file);
  }
  if (!content.done()) {
    refuse(place(source, content.number(), 1), "one more pattern",
           fmt::format("the end of the file after {} patterns, as line {} says", *rows, line));
  }
  remark_outside(file);
  return file;
}

std::string fann_text(const Dataset& data) {
  std::string text = fmt::format("{} {} {}\n", data.rows(), data.dim, data.outputs());
  for (std::int64_t row = 0; row < data.rows(); ++row) {
    append_inputs(text, data, row, ' ');
    text += '\n';
    append_outputs(text, data, row);
    text += '\n';
  }
  return text;
}

std::string toman_text(const Dataset& data) {
  std::string text = "#Training set\n#Inputs\n";
  append_columns(text, data.input_names, "x", ranges_of(data.input_ranges, data.inputs, data.dim));
  text += "#Outputs\n";
  const bool classes = data.task == Task::classify;
  append_columns(
      text, classes ? data.classes : data.target_names, "y",
      classes ? std::vector<Range>(at(data.outputs())) : ranges_of(data.target_ranges, data.targets, data.outputs()));
  text += fmt::format("#Patterns\n{}\n", data.rows());
  for (std::int64_t row = 0; row < data.rows(); ++row) {
    append_inputs(text, data, row, ' ');
    text += " | ";
    append_outputs(text, data, row);
    text += '\n';
  }
  return text;
}

std::string table_text(const Dataset& data) {
  std::string text;
  const bool classes = data.task == Task::classify;
  for (std::int64_t j = 0; j < data.dim; ++j) {
    text += data.input_names.empty() ? fmt::format("x{},", j + 1) : csv_field(data.input_names[at(j)]) + ",";
  }
  const std::int64_t labels = classes ? 1 : data.outputs();
  for (std::int64_t l = 0; l < labels; ++l) {
    if (l > 0) text += ',';
    text += at(l) < data.target_names.size() ? csv_field(data.target_names[at(l)])
            : classes                        ? "class"
                                             : fmt::format("y{}", l + 1);
  }
  text += '\n';
  for (std::int64_t row = 0; row < data.rows(); ++row) {
    append_inputs(text, data, row, ',');
    for (std::int64_t l = 0; l < labels; ++l) {
      text += ',';
      text += classes ? csv_field(data.classes[at(data.labels[at(row)])])
                      : fmt::format("{}", data.targets[at(row * labels + l)]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace heddle
