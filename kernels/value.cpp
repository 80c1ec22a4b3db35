#include "heddle/kernels/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string text_of_real(double real) {
  std::string shortest = fmt::format("{}", real);
  if (shortest.find_first_of(".en") == std::string::npos) shortest += ".0";  // n: what is not finite has no such text
  return shortest;
}

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The integer, real or truth value with exactly this text.
std::optional<Value> read_other_than_word(std::string_view text) {
  if (text == "true" || text == "false") return Value(text == "true");
  if (text.empty() || (text.front() != '-' && (text.front() < '0' || text.front() > '9'))) return std::nullopt;
  if (const auto whole = read_number<std::int64_t>(text); whole && std::to_string(*whole) == text) return Value(*whole);
  const auto real = read_number<double>(text);
  if (real && std::isfinite(*real) && text_of_real(*real) == text) return Value(*real);
  return std::nullopt;
}

bool needs_quotes(const std::string& word) {
  return word.empty() || read_other_than_word(word) ||
         std::any_of(word.begin(), word.end(), [](char c) { return c == ' ' || c == '"' || is_control(c); });
}

std::string in_value_quotes(const std::string& word) {
  std::string quoted = "\"";
  for (const char c : word) {
    if (is_control(c)) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
  }
  return quoted + '"';
}

[[noreturn]] void refuse_value(std::string_view text, const char* why) {
  throw Error(ErrorKind::input, fmt::format("value {}: {}", text.substr(0, 80), why));
}

/// What stands between the quotes at both ends of `text`.
std::string without_quotes(std::string_view text) {
  std::string word;
  std::size_t at = 1;
  for (; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] != '\\') {
      word += text[at];
      continue;
    }
    if (++at == text.size()) break;
    if (text[at] != 'x') {
      word += text[at];
      continue;
    }
    unsigned code = 0;
    const std::string_view digits = text.substr(at + 1, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (error != std::errc() || digits.size() != 2 || end != digits.data() + 2) {
      refuse_value(text, "expected two hexadecimal digits after \\x");
    }
    word += static_cast<char>(code);
    at += 2;
  }
  if (at + 1 != text.size()) refuse_value(text, "expected one quote at the beginning and one at the end");
  return word;
}

struct TextOf {
  std::string operator()(std::int64_t whole) const { return std::to_string(whole); }
  std::string operator()(double real) const { return text_of_real(real); }
  std::string operator()(bool truth) const { return truth ? "true" : "false"; }
  std::string operator()(const std::string& word) const { return needs_quotes(word) ? in_value_quotes(word) : word; }
};

}  // namespace

std::vector<Value> numbers(std::initializer_list<std::int64_t> list) { return {list.begin(), list.end()}; }

std::vector<Value> words(std::initializer_list<const char*> list) {
  std::vector<Value> result;
  for (const char* word : list) result.emplace_back(std::string(word));
  return result;
}

std::string text(const Value& value) { return std::visit(TextOf(), value); }

Value parse_value(std::string_view text) {
  if (text.starts_with('"')) return without_quotes(text);
  if (auto other = read_other_than_word(text)) return *std::move(other);
  return std::string(text);
}

std::size_t length_of_value(std::string_view text) {
  if (!text.starts_with('"')) return std::min(text.find(' '), text.size());
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return std::min(text.find(' ', at), text.size());
    }
  }
  return text.size();
}

std::optional<double> as_number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1.0 : 0.0;
  return std::nullopt;
}

nlohmann::json json_of(const Value& value) {
  return std::visit([](const auto& each) { return nlohmann::json(each); }, value);
}

Value value_from(const nlohmann::json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float() && std::isfinite(json.get<double>())) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool too_large = json.is_number_unsigned() && json.get<std::uint64_t>() > kMost;
  if (json.is_number_integer() && !too_large) return json.get<std::int64_t>();
  throw Error(ErrorKind::input,
              fmt::format("found {}, expected a number, true, false or a word",
                          json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).substr(0, 80)));
}

}  // namespace heddle
