#include "heddle/tuner/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace heddle {

namespace {

// Medians of the same configuration in two processes differ by up to 1 %.
constexpr double kSmallestDifference = 1.01;
constexpr double kSignificance = 0.01;
// With at least 9 rounds, the quartiles of two equally fast configurations are separated in fewer than 1 of 100 cases.
constexpr std::size_t kFewestRounds = 9;
// Of the orders of twice 5 values, 2 of 252 have all values of one before all of the other.
constexpr std::size_t kFewestApart = 5;

double quantile(std::span<const double> values, double q) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

/// Two-sided sign test: the probability that of `rounds` fair coins at least `wins`, or at most `rounds - wins`, show
/// heads. `wins` is more than half of `rounds`.
double sign_test(std::size_t wins, std::size_t rounds) {
  double tail = 0.0;
  double term = std::pow(0.5, static_cast<double>(rounds));  // binomial(rounds, rounds - i) / 2^rounds, from i = 0
  for (std::size_t i = 0; i <= rounds - wins; ++i) {
    tail += term;
    term *= static_cast<double>(rounds - i) / static_cast<double>(i + 1);
  }
  return std::min(1.0, 2.0 * tail);
}

}  // namespace

double median(std::span<const double> values) { return quantile(values, 0.5); }

double half_interquartile_range(std::span<const double> values) {
  return 0.5 * (quantile(values, 0.75) - quantile(values, 0.25));
}

bool clearly_slower(std::span<const double> slower, std::span<const double> faster) {
  const std::size_t rounds = std::min(slower.size(), faster.size());
  if (rounds == 0 || median(slower) <= kSmallestDifference * median(faster)) return false;
  std::size_t wins = 0;
  std::size_t draws = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    if (slower[i] > faster[i]) ++wins;
    if (slower[i] == faster[i]) ++draws;
  }
  if (wins > (rounds - draws) / 2 && sign_test(wins, rounds - draws) < kSignificance) return true;
  const bool apart = std::ranges::min(slower.first(rounds)) > std::ranges::max(faster.first(rounds));
  if (apart && rounds >= kFewestApart) return true;
  return rounds >= kFewestRounds && quantile(slower, 0.25) > quantile(faster, 0.75);
}

bool equally_fast(std::span<const double> one, std::span<const double> other) {
  const auto hardly_slower = [](std::span<const double> a, std::span<const double> b) {
    return quantile(a, 0.75) < kSmallestDifference * quantile(b, 0.25);
  };
  return std::min(one.size(), other.size()) >= kFewestRounds && hardly_slower(one, other) && hardly_slower(other, one);
}

}  // namespace heddle
