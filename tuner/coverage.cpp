#include "heddle/tuner/coverage.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <set>
#include <utility>

#include "heddle/kernels/size_box.hpp"

namespace heddle {

namespace {

constexpr std::size_t kProbePoints = 400;
// Before anything is learnt, the loss is a twentieth for each doubling of a size. This guess weighs as much as one
// lesson at the same place.
constexpr double kUsualRate = 0.05;
constexpr double kUsualWeight = 1.0;
constexpr double kLargest = 1.0;          // upper bound of a loss
constexpr double kMargin = 0.1;           // part of a cell that is left out on each side, because its corners are tuned
constexpr std::size_t kMostCells = 1000;  // of a grid; more are not listed

struct SizeCell {
  std::vector<AxisValue> low, high;
};

/// The values of each axis in a group of problems, ascending.
std::vector<std::set<AxisValue>> values_by_axis(const std::vector<Problem>& group, const std::vector<Axis>& axes) {
  std::vector<std::set<AxisValue>> sizes(axes.size());
  for (const Problem& problem : group) {
    const std::vector<AxisValue> own = axis_values(problem, axes);
    for (std::size_t i = 0; i < axes.size(); ++i) sizes[i].insert(own[i]);
  }
  return sizes;
}

/// Every cell of the grid whose lines are at `sizes`.
std::vector<SizeCell> all_cells(const std::vector<std::set<AxisValue>>& sizes) {
  SizeCell first;
  for (const std::set<AxisValue>& of_axis : sizes) first.low.push_back(*of_axis.begin());
  first.high = first.low;
  std::vector<SizeCell> cells{first};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].size() < 2) continue;
    std::vector<SizeCell> more;
    for (auto low = sizes[i].begin(), high = std::next(low); high != sizes[i].end(); ++low, ++high) {
      for (SizeCell cell : cells) {
        cell.low[i] = *low;
        cell.high[i] = *high;
        more.push_back(std::move(cell));
      }
    }
    cells = std::move(more);
  }
  return cells;
}

/// For each problem one of the cells that meet in it.
std::vector<SizeCell> cells_beside(const std::vector<Problem>& group, const std::vector<Axis>& axes,
                                   const std::vector<std::set<AxisValue>>& sizes, std::mt19937_64& random) {
  std::vector<SizeCell> cells;
  for (const Problem& problem : group) {
    SizeCell cell{.low = axis_values(problem, axes), .high = {}};
    cell.high = cell.low;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (sizes[i].size() < 2) continue;
      const auto own = sizes[i].find(cell.low[i]);
      const bool below = own != sizes[i].begin() && ((random() >> 63) != 0 || std::next(own) == sizes[i].end());
      (below ? cell.low : cell.high)[i] = below ? *std::prev(own) : *std::next(own);
    }
    cells.push_back(std::move(cell));
  }
  return cells;
}

}  // namespace

Coverage::Coverage(std::vector<Axis> axes, const std::vector<Problem>& range) : axes_(std::move(axes)) {
  const std::vector<SizeBox> boxes = bounding_boxes(range, axes_);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < kProbePoints; ++i) {
    probe_points_.push_back({.problem = draw(boxes[i * boxes.size() / kProbePoints], axes_, random),
                             .nearest = std::numeric_limits<double>::infinity()});
  }
}

void Coverage::learn(const Problem& from, const Problem& to, double loss) {
  const double length = distance(from, to, axes_);
  if (length > 0.0 && std::isfinite(length))
    lessons_.push_back({.at = to, .loss_per_distance = std::max(0.0, loss) / length});
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
  std::mt19937_64 random(2);
  std::vector<Problem> problems;
  for (const std::vector<Problem>& group : comparable_groups(grid, axes)) {
    const std::vector<std::set<AxisValue>> sizes = values_by_axis(group, axes);
    double count = 1.0;
    for (const std::set<AxisValue>& of_axis : sizes) count *= std::max(1.0, static_cast<double>(of_axis.size()) - 1.0);
    const auto cells = count <= kMostCells ? all_cells(sizes) : cells_beside(group, axes, sizes, random);
    for (const SizeCell& cell : cells) {
      const SizeBox box{.low = Problem::from(axes, cell.low), .high = Problem::from(axes, cell.high)};
      Problem problem = draw(box, axes, random, kMargin);
      if (std::find(grid.begin(), grid.end(), problem) == grid.end()) problems.push_back(std::move(problem));
    }
  }
  return problems;
}

bool Coverage::is_complete() const {
  return std::ranges::none_of(probe_points_, [](const ProbePoint& point) { return std::isinf(point.nearest); });
}

double Coverage::expected_loss() const {
  double sum = 0.0;
  for (const ProbePoint& point : probe_points_) sum += loss(loss_per_distance_at(point.problem), point.nearest);
  return sum / static_cast<double>(probe_points_.size());
}

}  // namespace heddle
