#include "heddle/runtime/data/input_coding.hpp"

#include <cstddef>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

std::string_view text(Categories categories) {
  switch (categories) {
    case Categories::refused:
      return "refused";
    case Categories::index:
      return "index";
    case Categories::one_hot:
      return "one-hot";
  }
  return "";
}

Categories parse_categories(std::string_view word) {
  for (const Categories categories : {Categories::index, Categories::one_hot}) {
    if (text(categories) == word) return categories;
  }
  throw Error(ErrorKind::usage, "--categories: found " + in_quotes(word) + ", expected index or one-hot");
}

std::int64_t InputCoding::inputs() const {
  std::int64_t count = 0;
  for (const std::vector<std::string>& words : columns) {
    const bool spread = categories == Categories::one_hot && !words.empty();
    count += spread ? static_cast<std::int64_t>(words.size()) : 1;
  }
  return count;
}

std::vector<std::string> InputCoding::names(const std::vector<std::string>& column_names) const {
  if (columns.empty() || column_names.empty()) return column_names;
  std::vector<std::string> all;
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (categories != Categories::one_hot || columns[j].empty()) {
      all.push_back(column_names[j]);
      continue;
    }
    for (const std::string& word : columns[j]) all.push_back(column_names[j] + "=" + word);
  }
  return all;
}

}  // namespace heddle
