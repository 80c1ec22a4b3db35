#include "heddle/kernels/size_box.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace heddle {

namespace {

/// In [0, 1), the same with every library.
double unit_of(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

}  // namespace

std::vector<std::vector<Problem>> comparable_groups(const std::vector<Problem>& problems,
                                                    const std::vector<Axis>& axes) {
  std::vector<std::vector<Problem>> groups;
  for (const Problem& problem : problems) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<Problem>& other) {
      return separating_axis(other.front(), problem, axes) == nullptr;
    });
    if (group != groups.end()) {
      group->push_back(problem);
    } else {
      groups.push_back({problem});
    }
  }
  return groups;
}

SizeBox bounding_box(const std::vector<Problem>& group, const std::vector<Axis>& axes) {
  std::vector<AxisValue> low = axis_values(group.front(), axes), high = low;
  for (const Problem& problem : group) {
    const std::vector<AxisValue> own = axis_values(problem, axes);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      low[i] = std::min(low[i], own[i]);
      high[i] = std::max(high[i], own[i]);
    }
  }
  return {.low = Problem::from(axes, low), .high = Problem::from(axes, high)};
}

std::vector<SizeBox> bounding_boxes(const std::vector<Problem>& problems, const std::vector<Axis>& axes) {
  std::vector<SizeBox> boxes;
  boxes.reserve(problems.size());
  for (const std::vector<Problem>& group : comparable_groups(problems, axes)) {
    boxes.resize(boxes.size() + group.size(), bounding_box(group, axes));
  }
  return boxes;
}

Problem draw(const SizeBox& box, const std::vector<Axis>& axes, std::mt19937_64& random, double margin) {
  const std::vector<AxisValue> low = axis_values(box.low, axes), high = axis_values(box.high, axes);
  std::vector<AxisValue> drawn = low;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double part = margin + (1.0 - 2.0 * margin) * unit_of(random);
    if (low[i] && high[i]) drawn[i] = between(axes[i], *low[i], *high[i], part);
  }
  return Problem::from(axes, drawn);
}

}  // namespace heddle
