#include "heddle/runtime/data/label_choice.hpp"

#include <algorithm>
#include <charconv>

#include "heddle/kernels/text.hpp"
#include "heddle/runtime/data/field.hpp"

namespace heddle {
namespace {

[[noreturn]] void refuse_label(std::string_view found, const std::string& expected) {
  throw Error(ErrorKind::usage, "--label: found " + in_quotes(found) + ", expected " + expected);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_name(const std::string& column) {
  return column != "first" && column != "last" && !whole_number(column).has_value();
}

}  // namespace

LabelChoice LabelChoice::parse(const std::string& text, Task task) {
  if (text.empty()) return {};
  if (text.starts_with("file:")) {
    if (text.size() == 5) refuse_label(text, "a file's name after 'file:'");
    return {.columns = {}, .file = text.substr(5)};
  }
  LabelChoice choice;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    choice.columns.emplace_back(bare(std::string_view(text).substr(begin, end - begin)));
    if (choice.columns.back().empty()) refuse_label(text, "first, last, a column's number or name, or file:PATH");
    begin = end + 1;
  }
  if (task == Task::classify && choice.columns.size() > 1) refuse_label(text, "one column of classes");
  return choice;
}

bool LabelChoice::named() const { return std::any_of(columns.begin(), columns.end(), is_name); }

std::vector<std::int64_t> LabelChoice::resolve(std::int64_t count, const std::vector<std::string>& names,
                                               const std::string& source) const {
  std::vector<std::int64_t> indices;
  for (const std::string& column : columns) {
    std::int64_t index = -1;
    if (column == "first") {
      index = 0;
    } else if (column == "last") {
      index = count - 1;
    } else if (const std::optional<std::int64_t> number = whole_number(column)) {
      if (*number < 1 || *number > count)
        refuse_label(column, "a column from 1 to " + std::to_string(count) + " of " + source);
      index = *number - 1;
    } else {
      const auto found = std::find(names.begin(), names.end(), column);
      if (found == names.end())
        refuse_label(column, "first, last, a column's number, or a name in line 1 of " + source);
      if (std::find(found + 1, names.end(), column) != names.end()) {
        refuse_label(column, "a name that only one column of " + source + " has");
      }
      index = found - names.begin();
    }
    if (std::find(indices.begin(), indices.end(), index) != indices.end()) refuse_label(column, "each column once");
    indices.push_back(index);
  }
  return indices;
}

}  // namespace heddle
