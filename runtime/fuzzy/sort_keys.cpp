#include "heddle/runtime/fuzzy/sort_keys.hpp"

#include <fmt/format.h>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/fuzzy/decimal.hpp"
#include "heddle/kernels/fuzzy/measures.hpp"
#include "heddle/kernels/fuzzy/shapes.hpp"
#include "heddle/runtime/data/data_file.hpp"
#include "heddle/runtime/data/field.hpp"
#include "heddle/runtime/data/text_lines.hpp"

namespace heddle::fuzzy {
namespace {

/// A number whose count of cuts is known only when the program runs.
template <class T>
struct NumberView {
  using Real = T;
  Encoding encoding;
  int count;
  const T* components;

  [[nodiscard]] Interval<T> cut(int i) const {
    if (encoding == Encoding::lower_upper) return {components[2 * i], components[2 * i + 1]};
    return MidpointRadius<T, 1>{components[0], {components[1 + i]}}.cut(0);
  }
};

template <class T>
double value_of(const NumberView<T>& number, const double* level, Measure measure) {
  switch (measure) {
    case Measure::centroid:
      return centroid(number, level);
    case Measure::mean_of_maxima:
      return mean_of_maxima(number);
    case Measure::ranking_value:
      break;
  }
  return ranking_value(number, level);
}

}  // namespace

std::optional<Measure> measure_of(std::string_view text) {
  if (text == "centroid") return Measure::centroid;
  if (text == "mean-of-maxima") return Measure::mean_of_maxima;
  if (text == "ranking-value") return Measure::ranking_value;
  return std::nullopt;
}

template <class T>
std::vector<T> measure_all(const Numbers<T>& numbers, std::span<const double> levels, Measure measure) {
  std::vector<double> level(levels.begin(), levels.end());
  for (int i = 0; levels.empty() && i < numbers.cuts; ++i) level.push_back(even_level(i, numbers.cuts));
  std::vector<T> values(at(numbers.count()));
  const std::size_t width = at(components(numbers.encoding, numbers.cuts));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const NumberView<T> number{numbers.encoding, numbers.cuts, numbers.values.data() + i * width};
    values[i] = static_cast<T>(value_of(number, level.data(), measure));
  }
  return values;
}

template <class T>
std::vector<T> read_keys(const std::filesystem::path& file) {
  const std::string bytes = read_data_file(file), source = file.string();
  Lines lines(bytes);
  std::vector<T> keys;
  keys.reserve(at(lines.count()));
  Fields fields;
  for (std::int64_t row = 1; !lines.done(); ++row) {
    const std::string_view line = lines.next();
    split(line, line.find(',') != std::string_view::npos, fields);
    if (fields.size() != 1) {
      refuse(fmt::format("{}:{}", source, row), fmt::format("{} columns", fields.size()), "one key in each row");
    }
    const std::string_view field = bare(fields.front());
    if (const auto number = read_decimal(field)) {
      keys.push_back(static_cast<T>(number->near));
    } else if (row > 1 || !is_word(field)) {
      refuse(place(source, row, 1), field_text(fields.front()), "a number");
    }
  }
  if (keys.empty()) refuse(source, "no rows", "a key for each number");
  return keys;
}

template std::vector<float> measure_all(const Numbers<float>&, std::span<const double>, Measure);
template std::vector<double> measure_all(const Numbers<double>&, std::span<const double>, Measure);
template std::vector<float> read_keys(const std::filesystem::path&);
template std::vector<double> read_keys(const std::filesystem::path&);

}  // namespace heddle::fuzzy
