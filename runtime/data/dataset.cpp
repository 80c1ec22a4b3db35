#include "heddle/runtime/data/dataset.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "heddle/kernels/text.hpp"
#include "heddle/runtime/data/data_file.hpp"
#include "heddle/runtime/data/field.hpp"
#include "heddle/runtime/data/idx.hpp"
#include "heddle/runtime/data/label_choice.hpp"
#include "heddle/runtime/data/sample_file.hpp"
#include "heddle/runtime/data/text_table.hpp"

namespace heddle {
namespace {

/// More classes than this are a target column read as classes, not a classification.
constexpr std::size_t kMostClasses = 1024;

/// The fields to be learnt of each row, as they stand in the file.
struct Labels {
  std::vector<std::string_view> fields;  ///< N x per_row
  std::int64_t per_row = 1;
  std::function<std::string(std::size_t)> place;  ///< "FILE:LINE:COLUMN" of a field
};

bool by_value_then_text(const std::string& a, const std::string& b) {
  const std::optional<double> x = parse_double(a), y = parse_double(b);
  return x && y && *x != *y ? *x < *y : a < b;
}

/// Classes and the row in which each comes first.
using FirstRows = std::unordered_map<std::string_view, std::size_t>;

/// A header of numbers passes for a row of data; its label is then the only one that is a word.
void refuse_header_of_numbers(const Labels& labels, const FirstRows& first_rows) {
  const auto is_odd = [](const auto& entry) { return is_word(entry.first); };
  if (std::count_if(first_rows.begin(), first_rows.end(), is_odd) != 1) return;
  const auto& [label, row] = *std::find_if(first_rows.begin(), first_rows.end(), is_odd);
  if (row != 0 || std::count(labels.fields.begin(), labels.fields.end(), label) != 1) return;
  refuse(labels.place(0), in_quotes(label),
         "a number like every other label; if line 1 is a header, say --header, and if not, --no-header");
}

std::vector<std::string> classes_of(const Labels& labels, const DataOptions& options, const std::string& source) {
  FirstRows first_rows;
  for (std::size_t i = 0; i < labels.fields.size(); ++i) {
    const std::string_view label = labels.fields[i];
    if (!is_word(label) && !parse_number(label)) {
      refuse(labels.place(i), label.empty() ? "nothing" : in_quotes(label), "a class");
    }
    first_rows.emplace(label, i);
    if (first_rows.size() > kMostClasses) {
      refuse(labels.place(i), "more than " + std::to_string(kMostClasses) + " classes",
             "fewer, or --task regress for numbers");
    }
  }
  if (first_rows.size() == 1) {
    refuse(source, "one class only (" + in_quotes(labels.fields.front()) + ")", "at least two");
  }
  if (options.header == Header::detect && first_rows.size() > 2) refuse_header_of_numbers(labels, first_rows);
  std::vector<std::string> classes;
  for (const auto& entry : first_rows) classes.emplace_back(entry.first);
  return ordered_classes(std::move(classes));
}

std::string listing(const std::vector<std::string>& words) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(words.size(), kMost); ++i) text += (i == 0 ? "" : ", ") + brief(words[i], 40);
  return words.size() > kMost ? text + ", ..." : text;
}

/// The index of each class by its name, and by its canonical number where that is no other class's name: a file may
/// spell a class in another way than the one that was learnt.
std::unordered_map<std::string, std::int32_t> index_of(const std::vector<std::string>& classes) {
  std::unordered_map<std::string, std::int32_t> index;
  for (std::size_t c = 0; c < classes.size(); ++c) index.emplace(classes[c], static_cast<std::int32_t>(c));
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const auto value = parse_double(classes[c]);
    if (value) index.emplace(canonical_number(*value), static_cast<std::int32_t>(c));
  }
  return index;
}

void learn_classes(const Labels& labels, const DataOptions& options, Dataset& data) {
  if (labels.per_row != 1) {
    refuse(labels.place(1), "a second label", "one class a row");
  }
  data.classes = options.expected ? options.expected->classes : classes_of(labels, options, data.source);
  const auto names = index_of(data.classes);
  const std::unordered_map<std::string_view, std::int32_t> index(names.begin(), names.end());
  const auto by_number = [&](std::string_view field) {
    const auto value = parse_double(field);
    return value ? index.find(canonical_number(*value)) : index.end();
  };
  data.labels.reserve(labels.fields.size());
  for (std::size_t i = 0; i < labels.fields.size(); ++i) {
    auto found = index.find(labels.fields[i]);
    if (found == index.end()) found = by_number(labels.fields[i]);
    if (found == index.end()) {
      refuse(labels.place(i), labels.fields[i].empty() ? "nothing" : in_quotes(labels.fields[i]),
             "a class of the training rows: " + listing(data.classes));
    }
    data.labels.push_back(found->second);
  }
}

void learn_targets(const Labels& labels, const DataOptions& options, Dataset& data) {
  data.targets_per_row = labels.per_row;
  if (options.expected && options.expected->targets_per_row != labels.per_row) {
    refuse(data.source, std::to_string(labels.per_row) + " targets a row",
           std::to_string(options.expected->targets_per_row) + " as in training");
  }
  data.targets.reserve(labels.fields.size());
  for (std::size_t i = 0; i < labels.fields.size(); ++i) {
    const std::optional<float> value = parse_number(labels.fields[i]);
    if (!value) {
      refuse(labels.place(i), labels.fields[i].empty() ? "nothing" : in_quotes(labels.fields[i]), "a finite number");
    }
    data.targets.push_back(*value);
  }
}

void learn(const Labels& labels, const DataOptions& options, Dataset& data) {
  data.task == Task::classify ? learn_classes(labels, options, data) : learn_targets(labels, options, data);
}

/// From a file of labels: text with one row a line, or IDX.
void learn_from_file(const std::filesystem::path& file, const DataOptions& options, Dataset& data) {
  const std::string bytes = read_data_file(file), source = file.string();
  Labels labels;
  std::vector<std::string> words;
  TextTable table;
  std::int64_t rows = 0;
  if (is_idx(bytes)) {
    const auto array = read_idx<double>(bytes, source);
    if (!array.whole && data.task == Task::classify)
      refuse(source, "an IDX file of fractions", "whole numbers as classes");
    rows = array.rows();
    labels.per_row = array.row_size();
    words.reserve(array.values.size());
    for (const double value : array.values) words.push_back(canonical_number(value));
    labels.fields.assign(words.begin(), words.end());
    labels.place = [&](std::size_t i) {
      return source + ": row " + std::to_string(i / static_cast<std::size_t>(labels.per_row) + 1);
    };
  } else {
    table = read_text(bytes, source, {}, {.header = Header::absent, .label_columns = LabelColumns::all});
    rows = table.rows;
    labels.per_row = table.columns;
    labels.fields = table.labels;
    labels.place = [&](std::size_t i) {
      const auto field = static_cast<std::int64_t>(i);
      return table.label_place(field / table.columns, field % table.columns);
    };
  }
  if (rows != data.rows()) {
    refuse(source, std::to_string(rows) + " rows", std::to_string(data.rows()) + " as in " + data.source);
  }
  learn(labels, options, data);
}

Dataset load_text(std::string_view bytes, const DataOptions& options, LabelChoice choice, Dataset data) {
  TextFormat format{
      .header = options.header, .label_columns = LabelColumns::chosen, .expected_inputs = 0, .coding = {}};
  if (options.expected) {
    format.expected_inputs = options.expected->input_columns();
    format.coding = options.expected->coding;
  } else {
    format.coding.categories = options.categories;
    format.coding.missing_is_category = options.missing_is_category;
  }
  if (choice.file) {
    format.label_columns = LabelColumns::none;
  } else if (choice.columns.empty()) {
    if (options.expected && options.labels_optional) format.label_columns = LabelColumns::chosen_unless_unlabelled;
    choice.columns = {"last"};
  }
  TextTable table = read_text(bytes, data.source, choice, format);
  data.coding = std::move(table.coding);
  data.dim = data.coding.columns.empty() ? table.columns - static_cast<std::int64_t>(table.label_columns.size())
                                         : data.coding.inputs();
  data.inputs = std::move(table.inputs);
  if (!table.remark.empty()) data.remarks.push_back(table.remark);
  for (std::size_t j = 0; j < table.names.size(); ++j) {
    const bool label = std::count(table.label_columns.begin(), table.label_columns.end(), j) != 0;
    if (!label) data.input_names.push_back(table.names[j]);
  }
  data.input_names = data.coding.names(data.input_names);
  if (!table.names.empty()) {
    for (const std::int64_t column : table.label_columns) {
      data.target_names.push_back(table.names[static_cast<std::size_t>(column)]);
    }
  }
  if (choice.file) {
    learn_from_file(*choice.file, options, data);
  } else if (!table.label_columns.empty()) {
    Labels labels{.fields = std::move(table.labels),
                  .per_row = static_cast<std::int64_t>(table.label_columns.size()),
                  .place = [&](std::size_t i) {
                    const auto field = static_cast<std::int64_t>(i);
                    const auto per_row = static_cast<std::int64_t>(table.label_columns.size());
                    return table.label_place(field / per_row, field % per_row);
                  }};
    learn(labels, options, data);
    // Words in every input of line 1 and a known class beside them: a row with mistakes rather than a header.
    if (table.header_detected && data.task == Task::classify &&
        std::find(data.classes.begin(), data.classes.end(), data.target_names.front()) != data.classes.end()) {
      refuse(data.source + ":1", "words in every input and the class " + in_quotes(data.target_names.front()),
             "numbers, or a header; say which with --header or --no-header");
    }
  }
  return data;
}

Dataset load_idx(std::string_view bytes, const DataOptions& options, const LabelChoice& choice, Dataset data) {
  if (!choice.columns.empty() || (!choice.file && !(options.expected && options.labels_optional))) {
    throw Error(ErrorKind::usage, "--label: found " + (options.label.empty() ? "nothing" : in_quotes(options.label)) +
                                      ", expected file:PATH with the labels of the IDX file " + data.source);
  }
  auto array = read_idx<float>(bytes, data.source);
  data.dim = array.row_size();
  data.inputs = std::move(array.values);
  if (options.expected && data.dim != options.expected->dim) {
    refuse(data.source, std::to_string(data.dim) + " inputs",
           std::to_string(options.expected->dim) + " as in training");
  }
  if (choice.file) learn_from_file(*choice.file, options, data);
  return data;
}

/// Where a file has an output for each class: 1 for the class of the row, 0 or -1 for the others.
void learn_outputs_of_classes(const Labels& labels, const std::vector<std::string>& names, const DataOptions& options,
                              Dataset& data) {
  const auto count = static_cast<std::size_t>(labels.per_row);
  std::vector<std::string> classes = names;
  for (std::size_t c = classes.size(); c < count; ++c) classes.push_back(std::to_string(c + 1));
  if (const std::string* const name = doubled(classes)) {
    refuse(data.source, "two outputs for the class " + in_quotes(*name), "each class once, or --task regress");
  }
  if (options.expected) {
    const std::vector<std::string>& expected = options.expected->classes;
    // Files without names have the classes in the order of the training rows.
    if (expected.size() != count || (!names.empty() && expected != classes)) {
      refuse(data.source, "outputs for the classes " + listing(classes),
             "for those of the training rows: " + listing(expected));
    }
    classes = expected;
  }
  data.classes = std::move(classes);
  data.labels.reserve(labels.fields.size() / count);
  for (std::size_t row = 0; row < labels.fields.size(); row += count) {
    std::int32_t chosen = -1;
    for (std::size_t c = 0; c < count; ++c) {
      const std::optional<float> value = parse_number(labels.fields[row + c]);
      const bool on = value && *value == 1.0F, off = value && (*value == 0.0F || *value == -1.0F);
      if ((!on && !off) || (on && chosen >= 0)) {
        refuse(labels.place(row + c), on ? "a second 1" : in_quotes(labels.fields[row + c]),
               "one 1 in the outputs of a row, 0 or -1 in the others, or --task regress");
      }
      if (on) chosen = static_cast<std::int32_t>(c);
    }
    if (chosen < 0) refuse(labels.place(row), "no output of 1 in the row", "one, or --task regress");
    data.labels.push_back(chosen);
  }
}

/// A file that says itself what is an input and what an output.
Dataset load_samples(SampleFile samples, const DataOptions& options, Dataset data) {
  if (!options.label.empty()) {
    throw Error(ErrorKind::usage, "--label: found " + in_quotes(options.label) + ", expected none: " + data.source +
                                      " says itself what its outputs are");
  }
  if (options.expected && samples.dim != options.expected->dim) {
    refuse(data.source, std::to_string(samples.dim) + " inputs",
           std::to_string(options.expected->dim) + " as in training");
  }
  data.dim = samples.dim;
  data.inputs = std::move(samples.inputs);
  data.input_names = std::move(samples.input_names);
  data.input_ranges = std::move(samples.input_ranges);
  if (!samples.remark.empty()) data.remarks.push_back(samples.remark);
  Labels labels{
      .fields = std::move(samples.outputs),
      .per_row = samples.outputs_per_row,
      .place = [&](std::size_t i) { return samples.place_of_output(i); },
  };
  if (data.task == Task::classify && labels.per_row > 1) {
    learn_outputs_of_classes(labels, samples.output_names, options, data);
    return data;
  }
  data.target_names = std::move(samples.output_names);
  if (data.task == Task::regress) data.target_ranges = std::move(samples.output_ranges);
  std::vector<std::string> values;
  if (data.task == Task::classify) {
    // All of them were read as numbers.
    for (const std::string_view field : labels.fields) values.push_back(canonical_number(*parse_double(field)));
    labels.fields.assign(values.begin(), values.end());
  }
  learn(labels, options, data);
  return data;
}

}  // namespace

std::vector<std::string> ordered_classes(std::vector<std::string> words) {
  const bool numbers = std::all_of(words.begin(), words.end(), [](const auto& word) { return parse_number(word); });
  if (numbers) {
    std::sort(words.begin(), words.end(), by_value_then_text);
  } else {
    std::sort(words.begin(), words.end());
  }
  return words;
}

const std::string* doubled(const std::vector<std::string>& words) {
  std::unordered_set<std::string_view> seen;
  const auto found = std::ranges::find_if(words, [&](const std::string& word) { return !seen.insert(word).second; });
  return found == words.end() ? nullptr : &*found;
}

DataFormat parse_data_format(std::string_view word) {
  constexpr std::pair<std::string_view, DataFormat> kFormats[] = {
      {"table", DataFormat::table}, {"idx", DataFormat::idx}, {"fann", DataFormat::fann}, {"toman", DataFormat::toman}};
  for (const auto& [name, format] : kFormats) {
    if (name == word) return format;
  }
  throw Error(ErrorKind::usage, "--format: found " + in_quotes(word) + ", expected table, idx, fann or toman");
}

Expectation expectation(const Dataset& train) {
  return {.dim = train.dim,
          .classes = train.classes,
          .targets_per_row = train.targets_per_row,
          .coding = train.coding,
          .input_names = train.input_names,
          .target_names = train.target_names};
}

namespace {

/// The names of all columns: the inputs', then the targets'.
std::vector<std::string> joined(std::vector<std::string> inputs, const std::vector<std::string>& targets) {
  inputs.insert(inputs.end(), targets.begin(), targets.end());
  return inputs;
}

/// Columns count by their places. Where a name says that a column is another one of the training rows, its numbers
/// would be taken for those of the column that was there.
void check_order(const Dataset& data, const Expectation& expected) {
  if (data.input_names.empty() || expected.input_names.empty()) return;
  const std::vector<std::string> found = joined(data.input_names, data.target_names),
                                 known = joined(expected.input_names, expected.target_names);
  const std::unordered_set<std::string_view> names(known.begin(), known.end());
  for (std::size_t j = 0; j < std::min(found.size(), known.size()); ++j) {
    if (found[j] == known[j] || !names.contains(found[j])) continue;
    refuse(data.source, "the column " + in_quotes(found[j]) + " in the place of " + in_quotes(known[j]),
           "the columns in the order of the training rows: " + listing(known));
  }
}

Dataset load_any(const std::filesystem::path& file, const DataOptions& options) {
  const LabelChoice choice = LabelChoice::parse(options.label, options.task);
  Dataset data;
  data.source = file.string();
  data.task = options.task;
  if (options.expected) {
    data.classes = options.expected->classes;
    data.targets_per_row = options.expected->targets_per_row;
  }
  const std::string bytes = read_data_file(file);
  DataFormat format = options.format;
  if (format == DataFormat::detect) {
    format = is_idx(bytes)             ? DataFormat::idx
             : looks_like_toman(bytes) ? DataFormat::toman
             : looks_like_fann(bytes)  ? DataFormat::fann
                                       : DataFormat::table;
  }
  switch (format) {
    case DataFormat::idx:
      return load_idx(bytes, options, choice, std::move(data));
    case DataFormat::fann:
    case DataFormat::toman: {
      SampleFile samples = format == DataFormat::fann ? read_fann(bytes, data.source) : read_toman(bytes, data.source);
      return load_samples(std::move(samples), options, std::move(data));
    }
    default:
      return load_text(bytes, options, choice, std::move(data));
  }
}

}  // namespace

Dataset load_dataset(const std::filesystem::path& file, const DataOptions& options) {
  Dataset data = load_any(file, options);
  if (options.expected) check_order(data, *options.expected);
  return data;
}

}  // namespace heddle
