#include "heddle/kernels/problem.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "heddle/kernels/error.hpp"

namespace heddle {

std::int64_t Problem::at(std::string_view name) const {
  for (const Size& size : sizes_) {
    if (size.name == name) return size.value;
  }
  throw std::out_of_range(fmt::format("the problem has no size called {}", name));
}

Problem Problem::with(std::string_view name, std::int64_t value) const {
  Problem changed = *this;
  for (Size& size : changed.sizes_) {
    if (size.name == name) {
      size.value = value;
      return changed;
    }
  }
  throw std::out_of_range(fmt::format("the problem has no size called {}", name));
}

std::string Problem::text() const {
  std::string text;
  for (const Size& size : sizes_) {
    if (!text.empty()) text += ' ';
    text += size.name;
    text += '=';
    text += std::to_string(size.value);
  }
  return text;
}

Problem Problem::parse(std::string_view text, const std::vector<Axis>& axes) {
  const auto fail = [&](const std::string& expected) {
    return Error(ErrorKind::input, fmt::format("problem '{}': expected {}", text.substr(0, 200), expected));
  };
  std::vector<Size> sizes;
  std::string_view rest = text;
  for (const Axis& axis : axes) {
    const std::string_view field = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(field.size() + 1, rest.size()));
    if (!field.starts_with(axis.name + "=")) throw fail(fmt::format("{}=<number> here", axis.name));
    const std::string_view digits = field.substr(axis.name.size() + 1);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 1 || value > axis.maximum) {
      throw fail(fmt::format("{} from 1 to {}", axis.name, axis.maximum));
    }
    sizes.push_back({axis.name, value});
  }
  if (!rest.empty()) throw fail(fmt::format("nothing after {}", axes.empty() ? "it" : axes.back().name));
  Problem problem(std::move(sizes));
  if (problem.text() != text) throw fail(fmt::format("'{}'", problem.text()));  // leading zeros, stray blanks
  return problem;
}

double squared_distance(const Problem& a, const Problem& b, const std::vector<Axis>& axes) {
  double sum = 0.0;
  for (const Axis& axis : axes) {
    const double ratio = std::log2(static_cast<double>(a.at(axis.name)) / static_cast<double>(b.at(axis.name)));
    sum += axis.weight * ratio * ratio;
  }
  return sum;
}

double distance(const Problem& a, const Problem& b, const std::vector<Axis>& axes) {
  return std::sqrt(squared_distance(a, b, axes));
}

}  // namespace heddle
