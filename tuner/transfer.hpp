// What the measurements at other problems say about configurations at a problem that nobody has tuned.
#pragma once

#include <utility>
#include <vector>

#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/search_space.hpp"

namespace heddle {

/// A Gaussian process over configurations and problems at once (multi-task Bayesian optimisation; Swersky, Snoek, Adams
/// 2013): log(cost / cost of the fastest there) with the kernel prod_p k_p prod_s k_s, where k_p is a Matern 3/2 kernel
/// over the octaves between two values of parameter p, or a constant for different words, and k_s likewise over the
/// octaves between two problems' sizes, weighted as the family says. Only the nearest problems take part. Nothing is
/// fitted: on what little is known of a problem, lengths that suit most kernels do better than fitted ones.
class Transfer {
 public:
  using Costs = std::vector<std::pair<Configuration, double>>;

  explicit Transfer(std::vector<Axis> axes) : axes_(std::move(axes)) {}

  /// What was measured at `problem`, in the unit of what was learnt of it before; the last of a configuration counts.
  /// Lower bounds will do for slow configurations.
  void learn(const Problem& problem, const Costs& costs);
  /// log(cost / cost of the fastest there), as far as it is to be expected, for each of `configurations`. Empty while
  /// too little is known. The same calls give the same answers.
  [[nodiscard]] std::vector<float> expected(const Problem& problem,
                                            const std::vector<Configuration>& configurations) const;

 private:
  struct Lesson {
    Problem problem;
    Costs costs;
  };

  std::vector<Axis> axes_;
  std::vector<Lesson> lessons_;
};

}  // namespace heddle
