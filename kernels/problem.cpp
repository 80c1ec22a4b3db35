#include "heddle/kernels/problem.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

/// Reads a problem's sizes in the order of the axes.
class SizesInOrder {
 public:
  explicit SizesInOrder(const Problem& problem) : problem_(problem) {}
  AxisValue next(const Axis& axis) {
    const std::vector<Problem::Size>& sizes = problem_.sizes();
    if (at_ < sizes.size() && sizes[at_].name == axis.name) return sizes[at_++].value;
    if (axis.optional) return std::nullopt;
    return problem_.at(axis.name);  // throws, unless somebody made the problem in another order
  }

 private:
  const Problem& problem_;
  std::size_t at_ = 0;
};

}  // namespace

Problem Problem::from(const std::vector<Axis>& axes, const std::vector<AxisValue>& values) {
  std::vector<Size> sizes;
  sizes.reserve(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (values[i]) sizes.push_back({axes[i].name, *values[i]});
  }
  return Problem(std::move(sizes));
}

AxisValue Problem::find(std::string_view name) const noexcept {
  for (const Size& size : sizes_) {
    if (size.name == name) return size.value;
  }
  return std::nullopt;
}

std::int64_t Problem::at(std::string_view name) const {
  if (const AxisValue value = find(name)) return *value;
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
    const bool named =
        field.size() > axis.name.size() && field.starts_with(axis.name) && field[axis.name.size()] == '=';
    if (!named && axis.optional) continue;
    if (!named) throw fail(fmt::format("{}=<number> here", axis.name));
    rest.remove_prefix(std::min(field.size() + 1, rest.size()));
    const std::string_view digits = field.substr(axis.name.size() + 1);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || !allows(axis, value)) {
      throw fail(fmt::format("{} {}", axis.name, range_text(axis)));
    }
    sizes.push_back({axis.name, value});
  }
  if (!rest.empty()) throw fail(fmt::format("nothing after {}", sizes.empty() ? "it" : sizes.back().name));
  Problem problem(std::move(sizes));
  if (problem.text() != text) throw fail(fmt::format("'{}'", problem.text()));  // leading zeros, stray blanks
  return problem;
}

std::optional<std::string> misfit(const Problem& problem, const std::vector<Axis>& axes) {
  try {
    static_cast<void>(Problem::parse(problem.text(), axes));
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

std::vector<AxisValue> axis_values(const Problem& problem, const std::vector<Axis>& axes) {
  std::vector<AxisValue> all;
  all.reserve(axes.size());
  SizesInOrder sizes(problem);
  for (const Axis& axis : axes) all.push_back(sizes.next(axis));
  return all;
}

double squared_distance(const Problem& a, const Problem& b, const std::vector<Axis>& axes) {
  SizesInOrder of_a(a), of_b(b);
  double sum = 0.0;
  for (const Axis& axis : axes) {
    const double apart = axis_distance(axis, of_a.next(axis), of_b.next(axis));
    sum += axis.weight * apart * apart;
  }
  return sum;
}

double distance(const Problem& a, const Problem& b, const std::vector<Axis>& axes) {
  return std::sqrt(squared_distance(a, b, axes));
}

const Axis* separating_axis(const Problem& a, const Problem& b, const std::vector<Axis>& axes) {
  SizesInOrder of_a(a), of_b(b);
  for (const Axis& axis : axes) {
    if (std::isinf(axis_distance(axis, of_a.next(axis), of_b.next(axis)))) return &axis;
  }
  return nullptr;
}

}  // namespace heddle
