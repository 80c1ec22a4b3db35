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

constexpr std::size_t kSamples = 400;
// Before anything is learnt: a twentieth for each doubling, worth as much as one lesson at the very place.
constexpr double kUsualRate = 0.05;
constexpr double kUsualWeight = 1.0;
constexpr double kLargest = 1.0;  // what no configuration is likely to lose

}  // namespace

Coverage::Coverage(std::vector<Axis> axes, const std::vector<Problem>& range) : axes_(std::move(axes)) {
  std::mt19937_64 random(1);
  while (samples_.size() < kSamples) {
    Problem problem = range.front();
    for (const Axis& axis : axes_) {
      const auto [least, most] =
          std::minmax_element(range.begin(), range.end(),
                              [&](const Problem& a, const Problem& b) { return a.at(axis.name) < b.at(axis.name); });
      const double part = static_cast<double>(random() >> 11) * 0x1p-53;
      const double size = std::exp2(std::lerp(std::log2(static_cast<double>(least->at(axis.name))),
                                              std::log2(static_cast<double>(most->at(axis.name))), part));
      problem = problem.with(axis.name, std::llround(size));
    }
    samples_.push_back({.problem = std::move(problem), .nearest = std::numeric_limits<double>::infinity()});
  }
}

double Coverage::away(const Problem& a, const Problem& b) const { return std::sqrt(distance(a, b, axes_)); }

void Coverage::learn(const Problem& from, const Problem& to, double loss) {
  const double distance = away(from, to);
  if (distance > 0.0) lessons_.push_back({.at = to, .rate = std::max(0.0, loss) / distance});
}

void Coverage::add_tuned(const Problem& problem) {
  for (Sample& sample : samples_) sample.nearest = std::min(sample.nearest, away(sample.problem, problem));
}

double Coverage::rate_at(const Problem& problem) const {
  double weights = kUsualWeight;
  double sum = kUsualWeight * kUsualRate;
  for (const Lesson& lesson : lessons_) {
    const double weight = std::exp(-away(problem, lesson.at));
    weights += weight;
    sum += weight * lesson.rate;
  }
  return sum / weights;
}

double Coverage::loss(double rate, double distance) {
  return std::isinf(distance) ? kLargest : std::min(kLargest, rate * distance);
}

std::size_t Coverage::next(const std::vector<Problem>& candidates, const std::vector<Problem>& under_way) const {
  std::vector<double> rates, nearest;
  for (const Sample& sample : samples_) {
    rates.push_back(rate_at(sample.problem));
    nearest.push_back(sample.nearest);
    for (const Problem& other : under_way) nearest.back() = std::min(nearest.back(), away(sample.problem, other));
  }
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    double sum = 0.0;
    for (std::size_t s = 0; s < samples_.size(); ++s) {
      sum += loss(rates[s], std::min(nearest[s], away(samples_[s].problem, candidates[c])));
    }
    if (sum < least) {
      least = sum;
      best = c;
    }
  }
  return best;
}

std::vector<Problem> cell_middles(const std::vector<Problem>& grid, const std::vector<Axis>& axes) {
  if (grid.empty()) return {};
  std::vector<Problem> middles{grid.front()};
  for (const Axis& axis : axes) {
    std::set<std::int64_t> sizes;
    for (const Problem& problem : grid) sizes.insert(problem.at(axis.name));
    if (sizes.size() < 2) continue;
    std::vector<Problem> more;
    for (auto low = sizes.begin(), high = std::next(low); high != sizes.end(); ++low, ++high) {
      const auto middle = std::llround(std::sqrt(static_cast<double>(*low) * static_cast<double>(*high)));
      for (const Problem& problem : middles) more.push_back(problem.with(axis.name, middle));
    }
    middles = std::move(more);
  }
  std::erase_if(middles, [&](const Problem& p) { return std::find(grid.begin(), grid.end(), p) != grid.end(); });
  return middles;
}

double Coverage::expected_loss() const {
  double sum = 0.0;
  for (const Sample& sample : samples_) sum += loss(rate_at(sample.problem), sample.nearest);
  return sum / static_cast<double>(samples_.size());
}

}  // namespace heddle
