#include "heddle/tuner/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace heddle {

namespace {

constexpr double kSmallestDifference = 1.01;  // one configuration differs by as much between two processes
constexpr double kSignificance = 0.01;
constexpr std::size_t kFewestRounds =
    9;  // from here on quartiles of equals are that far apart in less than one case of 100

double quantile(std::span<const double> values, double q) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

/// Probability that at least `wins` of `rounds` fair coins, or at most the mirror image, agree.
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
  return rounds >= kFewestRounds && quantile(slower, 0.25) > quantile(faster, 0.75);
}

}  // namespace heddle
