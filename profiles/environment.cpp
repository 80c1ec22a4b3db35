#include "heddle/profiles/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

namespace heddle {

namespace {

constexpr double kSameRegime = 1.10;  // clocks of one card differ by less from one minute to the next

std::vector<double> numbers_in(std::string_view text) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < text.size();) {
    double number = 0.0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (error == std::errc()) numbers.push_back(number);
    at = error == std::errc() ? static_cast<std::size_t>(end - text.data()) : at + 1;
  }
  return numbers;
}

bool other_regime(const std::string& a, const std::string& b) {
  const std::vector<double> before = numbers_in(a);
  const std::vector<double> now = numbers_in(b);
  if (before.size() != now.size()) return false;
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (std::max(before[i], now[i]) > kSameRegime * std::min(before[i], now[i])) return true;
  }
  return false;
}

}  // namespace

std::string change_since(const Profile& profile, const Environment& now) {
  const Provenance& then = profile.provenance;
  const auto changed = [](const std::string& before, const std::string& after) {
    return !before.empty() && !after.empty() && before != after;
  };
  if (changed(then.driver, now.driver)) return fmt::format("the driver was {}, now {}", then.driver, now.driver);
  if (changed(then.compiler, now.compiler)) {
    return fmt::format("the compiler was {}, now {}", then.compiler, now.compiler);
  }
  if (changed(then.clocks, now.clocks) && other_regime(then.clocks, now.clocks)) {
    return fmt::format("the clocks were {}, now {}", then.clocks, now.clocks);
  }
  return {};
}

}  // namespace heddle
