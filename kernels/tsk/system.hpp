// A Takagi-Sugeno-Kang system, how it is taught, and the sizes of its problems.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/tsk/control.cuh"

namespace heddle::tsk {

/// Parameters of K rules over D inputs with L outputs, row after row. A consequent of order 0 is a constant; of order 1
/// it is linear in the inputs: a constant and D slopes.
struct System {
  std::int64_t dim = 0;            ///< D
  std::int64_t outputs = 0;        ///< L
  int order = 0;                   ///< 0 or 1
  std::vector<float> centres;      ///< c, K x D
  std::vector<float> widths;       ///< w, K x D: standard deviations of the Gaussians
  std::vector<float> consequents;  ///< theta, K x T x L

  [[nodiscard]] std::int64_t rules() const { return dim == 0 ? 0 : static_cast<std::int64_t>(centres.size()) / dim; }
  [[nodiscard]] std::int64_t terms() const { return order == 0 ? 1 : dim + 1; }  ///< T: numbers of one consequent
  [[nodiscard]] std::int64_t unknowns() const { return rules() * terms(); }      ///< P, of one least squares problem
};

/// Largest P that a plan is made for: Phi^T Phi has 512 MiB then.
inline constexpr std::int64_t kMostUnknowns = 8192;

/// Problem sizes of the families: "rules", "dim", "outputs", "rows".
[[nodiscard]] Problem problem(std::int64_t rules, std::int64_t dim, std::int64_t outputs, std::int64_t rows);
[[nodiscard]] const std::vector<Axis>& problem_axes();
/// P of a problem for consequents of an order.
[[nodiscard]] std::int64_t unknowns(const Problem& problem, int order);

/// The progress that a run starts with; `step`: the length of the first step.
[[nodiscard]] Progress first_progress(double step);

}  // namespace heddle::tsk
