#include "heddle/runtime/data/word_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/data/field.hpp"
#include "heddle/runtime/data/text_lines.hpp"

namespace heddle {

namespace {

/// More are a key or a free text rather than categories, and would make a network of as many inputs.
constexpr std::size_t kMostCategories = 4096;
constexpr float kUnseen = -1.0F;

bool is_missing(std::string_view field) { return field.empty() || field == kMissing; }

}  // namespace

WordColumns::WordColumns(const InputCoding& asked, std::string source, std::int64_t columns)
    : coding_(asked), known_(!asked.columns.empty()), source_(std::move(source)), columns_(at(columns)) {
  if (!known_) return;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    for (const std::string& word : coding_.columns[j]) {
      columns_[j].index.emplace(word, static_cast<std::int32_t>(columns_[j].index.size()));
    }
  }
}

std::string WordColumns::at_place(Place where) const { return place(source_, where.line, where.field); }

float WordColumns::unseen(const Column& column, std::size_t index, std::string_view field, Place where) {
  if (coding_.categories == Categories::index) {
    std::vector<std::string> some(
        coding_.columns[index].begin(),
        coding_.columns[index].begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(column.index.size(), 10)));
    for (std::string& word : some) word = brief(word, 40);
    refuse(at_place(where), in_quotes(field),
           fmt::format("a category that the training rows have in this column: {}{}", fmt::join(some, ", "),
                       column.index.size() > some.size() ? ", ..." : ""));
  }
  if (unseen_++ == 0) first_unseen_ = fmt::format("{} at {}", in_quotes(field), at_place(where));
  return kUnseen;
}

float WordColumns::take(std::int64_t index, std::string_view field, std::int64_t line, std::int64_t field_number) {
  Column& column = columns_[at(index)];
  const Place where{line, field_number};
  const std::string_view word = texts_.of(field);
  const bool missing = is_missing(word);
  if (missing && column.missing++ == 0) column.first_missing = where;
  const bool words_only = known_ && !column.index.empty();
  if (!missing && !words_only) {
    std::optional<float> number = parse_number(field);
    if (!number) number = parse_number(word);
    if (number) {
      if (column.numbers++ == 0) {
        column.first_number = where;
        column.number = word;
      }
      return *number;
    }
    if (known_ || !is_word(word)) refuse(at_place(where), field_text(field), "a finite number");
  }
  const std::string_view category = missing ? kMissing : word;
  if (known_) {
    if (!words_only || (missing && !coding_.missing_is_category)) return kUnseen;  // encode() will refuse it
    const auto found = column.index.find(category);
    return found != column.index.end() ? static_cast<float>(found->second) : unseen(column, at(index), category, where);
  }
  if (!missing && column.word_rows++ == 0) {
    column.first_word = where;
    column.word = word;
  }
  const auto [found, added] = column.index.emplace(category, static_cast<std::int32_t>(column.words.size()));
  if (added) {
    column.words.push_back(category);
    if (column.words.size() > kMostCategories) {
      refuse(at_place(where), fmt::format("more than {} categories in one column", kMostCategories),
             "fewer, or a text without this column");
    }
  }
  return static_cast<float>(found->second);
}

void WordColumns::refuse_missing(const std::vector<std::string>& names) const {
  const auto is_of_words = [&](std::size_t j) {
    return known_ ? !columns_[j].index.empty() : columns_[j].word_rows > 0;
  };
  std::vector<std::string> lacking;
  Place first;
  bool numbers = false;
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const Column& column = columns_[j];
    if (column.missing == 0 || (is_of_words(j) && coding_.missing_is_category)) continue;
    if (lacking.empty() || column.first_missing.line < first.line) first = column.first_missing;
    numbers |= !is_of_words(j);
    lacking.push_back(fmt::format("{} ({})",
                                  names.empty() ? fmt::format("{}", column.first_missing.field) : brief(names[j], 40),
                                  column.missing));
  }
  if (lacking.empty()) return;
  refuse(at_place(first),
         fmt::format("missing values in the column{} {}", lacking.size() == 1 ? "" : "s", fmt::join(lacking, ", ")),
         numbers  ? "a value in every row"
         : known_ ? "a word in every row, as the model's training rows have"
                  : "a word in every row, or --missing category");
}

void WordColumns::refuse_mixed(const Column& column) const {
  // The fewer are the more likely mistake.
  const bool odd_word = column.word_rows <= column.numbers;
  refuse(at_place(odd_word ? column.first_word : column.first_number),
         in_quotes(odd_word ? column.word : column.number),
         odd_word ? "a number, as most rows have in this column" : "a word, as most rows have in this column");
}

/// The categories of columns of words, sorted, and the place of each word among them.
void WordColumns::find_categories() {
  bool any = false;
  coding_.columns.resize(columns_.size());
  ranks_.resize(columns_.size());
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    Column& column = columns_[j];
    if (column.word_rows == 0) continue;
    if (column.numbers > 0) refuse_mixed(column);
    any = true;
    std::vector<std::size_t> order(column.words.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {},
                      [&](std::size_t i) { return std::pair(column.words[i] == kMissing, column.words[i]); });
    ranks_[j].resize(order.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      ranks_[j][order[rank]] = static_cast<float>(rank);
      coding_.columns[j].emplace_back(column.words[order[rank]]);
    }
  }
  if (!any) coding_.columns.clear();
}

std::vector<float> WordColumns::encode(std::vector<float> taken, const std::vector<std::string>& names) {
  refuse_missing(names);
  if (!known_) find_categories();
  if (unseen_ > 0) {
    remark_ = fmt::format(
        "{}: {} field{} a category that the training rows lack (first {}); all inputs of its column are 0 there",
        source_, unseen_, unseen_ == 1 ? " has" : "s have", first_unseen_);
  }
  if (coding_.columns.empty()) return taken;
  const std::size_t columns = columns_.size(), inputs = at(coding_.inputs()), rows = taken.size() / columns;
  constexpr std::size_t kMostInputs = 65536;
  if (inputs > kMostInputs) {
    refuse(source_, fmt::format("{} inputs, one for each category,", inputs), fmt::format("at most {}", kMostInputs));
  }
  const auto rank = [&](std::size_t j, float stand_in) {
    return known_ || coding_.columns[j].empty() ? stand_in : ranks_[j][static_cast<std::size_t>(stand_in)];
  };
  if (coding_.categories == Categories::index) {
    for (std::size_t i = 0; i < taken.size(); ++i) taken[i] = rank(i % columns, taken[i]);
    return taken;
  }
  std::vector<float> spread(rows * inputs, 0.0F);
  for (std::size_t i = 0; i < rows; ++i) {
    float* into = spread.data() + i * inputs;
    for (std::size_t j = 0; j < columns; ++j) {
      const float value = rank(j, taken[i * columns + j]);
      if (coding_.columns[j].empty()) {
        *into++ = value;
        continue;
      }
      if (value != kUnseen) into[static_cast<std::size_t>(value)] = 1.0F;
      into += coding_.columns[j].size();
    }
  }
  return spread;
}

}  // namespace heddle
