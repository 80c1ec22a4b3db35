// What the measurements at other problems say about configurations at a problem that nobody has tuned.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/search_space.hpp"

namespace heddle {

/// A Gaussian process over configurations and problems at once (multi-task Bayesian optimisation; Swersky, Snoek, Adams
/// 2013): log(cost / cost that a model expects), or, of what there is no model, log(cost / cost of the fastest there),
/// with the kernel prod_p k_p prod_s k_s, where k_p is a Matern 3/2 kernel over the octaves between two values of
/// parameter p, or a constant for different words, and k_s likewise over the octaves between two problems' sizes,
/// weighted as the family says. Only the nearest problems take part. Nothing is fitted: on what little is known of a
/// problem, lengths that suit most kernels do better than fitted ones.
class Transfer {
 public:
  using Costs = std::vector<std::pair<Configuration, double>>;

  /// What a configuration costs at a problem, in the unit of all costs; nothing where there is no model of it.
  using Model = std::function<std::optional<double>(const Configuration&, const Problem&)>;

  explicit Transfer(std::vector<Axis> axes, Model model = {}) : axes_(std::move(axes)), model_(std::move(model)) {}

  /// What was measured at `problem`, in the unit of the model or of what was learnt of it before; the last of a
  /// configuration counts. Lower bounds will do for slow configurations.
  void learn(const Problem& problem, const Costs& costs);
  /// log(cost / cost of the fastest of them), as far as it is to be expected, for each of `configurations`: what the
  /// model says while little is measured; empty without a model then. The same calls give the same answers.
  [[nodiscard]] std::vector<float> expected(const Problem& problem,
                                            const std::vector<Configuration>& configurations) const;

 private:
  struct Lesson {
    Problem problem;
    Costs costs;
  };

  /// log of what the model says.
  [[nodiscard]] std::optional<double> modelled(const Configuration& configuration, const Problem& problem) const;
  [[nodiscard]] std::vector<const Lesson*> nearest(const Problem& problem) const;
  /// log(cost / cost that is modelled) in general: this device need not be the one of the model.
  [[nodiscard]] double bias(const std::vector<const Lesson*>& lessons) const;
  /// log(cost / cost that is modelled, but for the bias, or of the fastest). Empty while too little is known.
  [[nodiscard]] std::vector<double> surprises_of(const Problem& problem,
                                                 const std::vector<Configuration>& configurations,
                                                 const std::vector<const Lesson*>& nearest, double bias) const;

  std::vector<Axis> axes_;
  Model model_;
  std::vector<Lesson> lessons_;
};

}  // namespace heddle
