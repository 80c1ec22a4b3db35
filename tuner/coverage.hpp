// Which problem of a grid to tune next, and what the sizes in between can be expected to lose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/kernels/problem.hpp"

namespace heddle {

/// The dispatcher chooses from winners of tuned problems, so the loss at a size nobody tuned grows with the distance to
/// the nearest. How fast is learnt from winners that were tried elsewhere; near sizes teach more than far ones. The
/// expected loss is the mean over sizes drawn log-uniformly from the range. The same calls give the same answers.
class Coverage {
 public:
  /// `range`: problems whose smallest and largest sizes bound what can be asked for; at least one.
  Coverage(std::vector<Axis> axes, const std::vector<Problem>& range);

  /// The winner of `from` was slower at `to` than the winner there by the fraction `loss`.
  void learn(const Problem& from, const Problem& to, double loss);
  void add_tuned(const Problem& problem);
  /// The index of the candidate whose tuning lowers the expected loss most, when those `under_way` are tuned too. At
  /// least one candidate.
  [[nodiscard]] std::size_t next(const std::vector<Problem>& candidates,
                                 const std::vector<Problem>& under_way = {}) const;
  /// As a fraction of the best time; 1 before anything is tuned.
  [[nodiscard]] double expected_loss() const;

 private:
  struct Sample {
    Problem problem;
    double nearest;  ///< distance to the nearest tuned problem
  };
  struct Lesson {
    Problem at;
    double rate;  ///< loss per distance
  };
  [[nodiscard]] double away(const Problem& a, const Problem& b) const;
  [[nodiscard]] double rate_at(const Problem& problem) const;
  [[nodiscard]] static double loss(double rate, double distance);

  std::vector<Axis> axes_;
  std::vector<Sample> samples_;
  std::vector<Lesson> lessons_;
};

/// A problem somewhere within each of the cells that the sizes of `grid` span, always the same ones; none of `grid`
/// itself. Not their middles: these share few sizes, and what is learnt at one size of an axis says little about
/// others.
[[nodiscard]] std::vector<Problem> within_cells(const std::vector<Problem>& grid, const std::vector<Axis>& axes);

}  // namespace heddle
