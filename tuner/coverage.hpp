// Which problem of a grid to tune next, and the expected loss at untuned sizes in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/kernels/problem.hpp"

namespace heddle {

/// At an untuned size the dispatcher uses the winners of tuned problems. The loss there is assumed to be proportional
/// to the distance() to the nearest tuned problem. The loss per unit of distance is learnt: whenever the winner of one
/// problem is tried at another, its slowdown there is divided by the distance. At each size, what was learnt at near
/// problems counts more. The expected loss is the mean over sizes drawn evenly from the range, each on the scale of its
/// axis. Where nothing carries over from one problem to another, each such group of problems has a range of its own.
/// The same calls give the same answers.
class Coverage {
 public:
  /// `range`: at least one problem. Its smallest and largest sizes bound the range.
  Coverage(std::vector<Axis> axes, const std::vector<Problem>& range);

  /// At `to`, the winner of `from` was slower than the winner of `to` by the fraction `loss`.
  void learn(const Problem& from, const Problem& to, double loss);
  void add_tuned(const Problem& problem);
  /// The index of the candidate whose tuning lowers the expected loss most. The problems `under_way` count as tuned.
  /// Needs at least one candidate.
  [[nodiscard]] std::size_t most_valuable(const std::vector<Problem>& candidates,
                                          const std::vector<Problem>& under_way = {}) const;
  /// Whether a tuned problem says something about every size of the range.
  [[nodiscard]] bool is_complete() const;
  /// The expected loss as a fraction of the best time; 1 stands for sizes about which no tuned problem says anything.
  [[nodiscard]] double expected_loss() const;

 private:
  struct ProbePoint {
    Problem problem;
    double nearest;  ///< distance to the nearest tuned problem
  };
  struct Lesson {
    Problem at;
    double loss_per_distance;
  };
  [[nodiscard]] double loss_per_distance_at(const Problem& problem) const;
  [[nodiscard]] static double loss(double per_distance, double distance);

  std::vector<Axis> axes_;
  std::vector<ProbePoint> probe_points_;
  std::vector<Lesson> lessons_;
};

/// One problem within each cell that the sizes of `grid` span; none of `grid` itself. The same grid gives the same
/// problems. They are drawn at random because the cells' middles repeat the same few sizes on each axis: drawn points
/// cover more sizes. Problems between which nothing carries over are grids of their own. A grid with many axes and few
/// problems spans far more cells than it has problems; then each problem gets one of the cells that meet in it.
[[nodiscard]] std::vector<Problem> within_cells(const std::vector<Problem>& grid, const std::vector<Axis>& axes);

}  // namespace heddle
