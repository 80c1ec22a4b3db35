#include "heddle/tuner/coverage.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <utility>

namespace heddle {

namespace {

constexpr std::size_t kProbePoints = 400;
// Before anything is learnt, the loss is a twentieth for each doubling of a size. This guess weighs as much as one
// lesson at the same place.
constexpr double kUsualRate = 0.05;
constexpr double kUsualWeight = 1.0;
constexpr double kLargest = 1.0;  // upper bound of a loss
constexpr double kMargin = 0.1;   // part of a cell that is left out on each side, because its corners are tuned

/// Evenly from 0 to 1.
double unit(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// By ratio: `low` at 0, `high` at 1.
std::int64_t between(std::int64_t low, std::int64_t high, double part) {
  return std::llround(
      std::exp2(std::lerp(std::log2(static_cast<double>(low)), std::log2(static_cast<double>(high)), part)));
}

}  // namespace

Coverage::Coverage(std::vector<Axis> axes, const std::vector<Problem>& range) : axes_(std::move(axes)) {
  std::mt19937_64 random(1);
  while (probe_points_.size() < kProbePoints) {
    Problem problem = range.front();
    for (const Axis& axis : axes_) {
      const auto [least, most] =
          std::minmax_element(range.begin(), range.end(),
                              [&](const Problem& a, const Problem& b) { return a.at(axis.name) < b.at(axis.name); });
      problem = problem.with(axis.name, between(least->at(axis.name), most->at(axis.name), unit(random)));
    }
    probe_points_.push_back({.problem = std::move(problem), .nearest = std::numeric_limits<double>::infinity()});
  }
}

void Coverage::learn(const Problem& from, const Problem& to, double loss) {
  const double length = distance(from, to, axes_);
  if (length > 0.0) lessons_.push_back({.at = to, .loss_per_distance = std::max(0.0, loss) / length});
}

void Coverage::add_tuned(const Problem& problem) {
  for (ProbePoint& point : probe_points_)
    point.nearest = std::min(point.nearest, distance(point.problem, problem, axes_));
}

double Coverage::loss_per_distance_at(const Problem& problem) const {
  double weights = kUsualWeight;
  double sum = kUsualWeight * kUsualRate;
  for (const Lesson& lesson : lessons_) {
    const double weight = std::exp(-distance(problem, lesson.at, axes_));
    weights += weight;
    sum += weight * lesson.loss_per_distance;
  }
  return sum / weights;
}

double Coverage::loss(double per_distance, double distance) {
  return std::isinf(distance) ? kLargest : std::min(kLargest, per_distance * distance);
}

std::size_t Coverage::most_valuable(const std::vector<Problem>& candidates,
                                    const std::vector<Problem>& under_way) const {
  std::vector<double> rates, nearest;
  for (const ProbePoint& point : probe_points_) {
    rates.push_back(loss_per_distance_at(point.problem));
    nearest.push_back(point.nearest);
    for (const Problem& other : under_way)
      nearest.back() = std::min(nearest.back(), distance(point.problem, other, axes_));
  }
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    double sum = 0.0;
    for (std::size_t s = 0; s < probe_points_.size(); ++s) {
      sum += loss(rates[s], std::min(nearest[s], distance(probe_points_[s].problem, candidates[c], axes_)));
    }
    if (sum < least) {
      least = sum;
      best = c;
    }
  }
  return best;
}

std::vector<Problem> within_cells(const std::vector<Problem>& grid, const std::vector<Axis>& axes) {
  if (grid.empty()) return {};
  struct Cell {
    Problem low, high;
  };
  std::vector<Cell> cells{{grid.front(), grid.front()}};
  for (const Axis& axis : axes) {
    std::set<std::int64_t> sizes;
    for (const Problem& problem : grid) sizes.insert(problem.at(axis.name));
    if (sizes.size() < 2) continue;
    std::vector<Cell> more;
    for (auto low = sizes.begin(), high = std::next(low); high != sizes.end(); ++low, ++high) {
      for (const Cell& cell : cells) more.push_back({cell.low.with(axis.name, *low), cell.high.with(axis.name, *high)});
    }
    cells = std::move(more);
  }
  std::mt19937_64 random(2);
  std::vector<Problem> problems;
  for (const Cell& cell : cells) {
    Problem problem = cell.low;
    for (const Axis& axis : axes) {
      const double part = kMargin + (1.0 - 2.0 * kMargin) * unit(random);
      problem = problem.with(axis.name, between(cell.low.at(axis.name), cell.high.at(axis.name), part));
    }
    if (std::find(grid.begin(), grid.end(), problem) == grid.end()) problems.push_back(std::move(problem));
  }
  return problems;
}

double Coverage::expected_loss() const {
  double sum = 0.0;
  for (const ProbePoint& point : probe_points_) sum += loss(loss_per_distance_at(point.problem), point.nearest);
  return sum / static_cast<double>(probe_points_.size());
}

}  // namespace heddle
