// What some problems span: the box of sizes between them, and problems drawn from it.
#pragma once

#include <random>
#include <vector>

#include "heddle/kernels/problem.hpp"

namespace heddle {

/// Two opposite corners. They are at a finite distance, so that every problem between them is near both.
struct SizeBox {
  Problem low, high;
};

/// Divides problems into groups within which distances are finite: equal on every axis that must be equal, and with the
/// same sizes missing. Groups come in the order of their first problems, problems in the given order.
[[nodiscard]] std::vector<std::vector<Problem>> comparable_groups(const std::vector<Problem>& problems,
                                                                  const std::vector<Axis>& axes);
/// The smallest box that holds the problems of one group, of which there is at least one.
[[nodiscard]] SizeBox bounding_box(const std::vector<Problem>& group, const std::vector<Axis>& axes);
/// For each problem, group by group, the bounding box of its group.
[[nodiscard]] std::vector<SizeBox> bounding_boxes(const std::vector<Problem>& problems, const std::vector<Axis>& axes);

/// A problem with sizes drawn evenly, each on its axis' scale, without the part `margin` on both sides of the box.
/// Takes one number of `random` for each axis.
[[nodiscard]] Problem draw(const SizeBox& box, const std::vector<Axis>& axes, std::mt19937_64& random,
                           double margin = 0.0);

}  // namespace heddle
