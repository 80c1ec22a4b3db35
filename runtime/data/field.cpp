#include "heddle/runtime/data/field.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "heddle/kernels/error.hpp"

namespace heddle {

std::optional<double> parse_double(std::string_view field) {
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (end != field.data() + field.size() || field.empty()) return std::nullopt;
  if (error == std::errc()) return value;
  if (error != std::errc::result_out_of_range) return std::nullopt;
  // from_chars does not tell too large from too small.
  return std::strtod(std::string(field).c_str(), nullptr);
}

std::optional<float> parse_number(std::string_view field) {
  const std::optional<double> value = parse_double(field);
  if (!value || !(std::abs(*value) <= static_cast<double>(std::numeric_limits<float>::max()))) return std::nullopt;
  return static_cast<float>(*value);
}

std::string canonical_number(double value) { return fmt::format("{}", value == 0.0 ? 0.0 : value); }

bool is_word(std::string_view field) { return !field.empty() && field != "?" && !parse_double(field); }

std::string_view bare(std::string_view field) {
  const std::size_t first = field.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  field = field.substr(first, field.find_last_not_of(" \t") - first + 1);
  if (field.size() >= 2 && field.front() == '"' && field.back() == '"') field = field.substr(1, field.size() - 2);
  return field;
}

std::string_view FieldTexts::of(std::string_view field) {
  const std::string_view text = bare(field);
  const bool quoted = !text.empty() && text.data() != field.data() && text.data()[-1] == '"';
  if (!quoted || text.find("\"\"") == std::string_view::npos) return text;
  std::string single;
  for (std::size_t i = 0; i < text.size(); ++i) {
    single += text[i];
    if (text.substr(i, 2) == "\"\"") ++i;
  }
  return *kept_.insert(std::move(single)).first;
}

std::string csv_field(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

void refuse(std::string_view where, std::string_view found, std::string_view expected) {
  throw Error(ErrorKind::input, fmt::format("{}: found {}, expected {}", where, found, expected));
}

}  // namespace heddle
