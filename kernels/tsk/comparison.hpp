// Results of kernels against the float64 reference.
#pragma once

#include <optional>
#include <vector>

#include "heddle/kernels/tsk/reference.hpp"
#include "heddle/kernels/tsk/workload.hpp"
#include "heddle/kernels/verification.hpp"

namespace heddle::tsk {

/// The result of a run.
struct Outcome {
  System system, best;
  Progress progress{};     ///< its recent errors are those of all iterations
  double held_back = 0.0;  ///< error of the last iteration on the rows held back
};

/// The result of the reference on a workload.
struct Expectation {
  std::vector<double> centres, widths;  ///< after the last iteration
  System best;
  Progress progress{};
  double held_back = 0.0;  ///< as in Outcome
  /// Norm of the change of centres and widths if nothing of the targets were explained, with the plain step; 0 with
  /// steps of one length.
  double unexplained_change = 0.0;
};
/// `iterations`: at most those of the workload.
[[nodiscard]] Expectation expectation(const Workload& work, int iterations, Rounding rounding = Rounding::none);

/// A workload, and how to judge what kernels make of it.
class Comparison {
 public:
  explicit Comparison(Workload work) : work_(std::move(work)) {}
  [[nodiscard]] const Workload& work() const noexcept { return work_; }

  /// Against the reference: every error within 1 %, of rows held back too; the change of all centres and widths, the
  /// norm of the difference at most 1 % of the norm of the change, or 0.1 % of the norm of the plain step that the same
  /// system makes when all targets are 0; the best system has the error that it was kept for. Where
  /// float32 does not determine a number so well, which Rounding::coarse tells, as much is allowed for that number
  /// alone as that moves it, at most 30 %.
  [[nodiscard]] Accuracy compare(const Outcome& outcome);

 private:
  Workload work_;
  std::optional<Expectation> exact_, coarse_;  ///< once they are needed
};

/// Whether coarse rounding moves no number of the reference by more than Comparison ever allows, and that of kernels
/// none by more than half of what it allows for that number. Nor may it show whether a system without a ridge gets one
/// unasked.
[[nodiscard]] bool is_determined(const Workload& work);

/// Norm of the difference of centres and widths over the norm of their change; infinite for NaN.
[[nodiscard]] double error_of_change(const System& before, const Expectation& expected, const System& after);

}  // namespace heddle::tsk
