#include "heddle/bench/common/problem_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string_view>

#include "heddle/kernels/error.hpp"

namespace heddle::bench {

Problem problem_of(const KernelFamily& family, const std::string& text) {
  std::vector<AxisValue> sizes;
  std::vector<std::string_view> names;
  std::string_view rest = text;
  for (const Axis& axis : family.axes()) {
    names.push_back(axis.name);
    const std::string_view word = rest.substr(0, rest.find('x'));
    rest.remove_prefix(word.size() < rest.size() ? word.size() + 1 : word.size());
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word == "-" && axis.optional) {
      sizes.emplace_back();
    } else if (error == std::errc() && end == word.data() + word.size() && allows(axis, value)) {
      sizes.emplace_back(value);
    }
  }
  if (sizes.size() != names.size() || !rest.empty()) {
    throw Error(ErrorKind::usage, fmt::format("found '{}', expected sizes {}", text, fmt::join(names, " x ")));
  }
  return Problem::from(family.axes(), sizes);
}

std::vector<Problem> problems_of(const KernelFamily& family, const std::vector<std::string>& texts) {
  std::vector<Problem> problems;
  problems.reserve(texts.size());
  for (const std::string& text : texts) problems.push_back(problem_of(family, text));
  return problems;
}

}  // namespace heddle::bench
