// Predicts the costs of configurations at an untuned problem from the measurements at other problems.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/search_space.hpp"

namespace heddle {

/// How much alike two configurations are, from 0 to 1: the correlation, at one problem, of how far their costs are from
/// what a model expects.
[[nodiscard]] double likeness(const Configuration& a, const Configuration& b);

/// A Gaussian process over configurations and problems at once (multi-task Bayesian optimisation; Swersky, Snoek, Adams
/// 2013).
///
/// - Its target is log(cost / cost that the family's model expects). Where the family has no model, it is log(cost /
///   cost of the fastest configuration of that problem). A configuration for which a family's model has no estimate is
///   assumed to be as fast, beside the others, as any such configuration was at these problems, and slow if there was
///   none.
/// - Its kernel is a product over all parameters and all sizes of Matern 3/2 kernels. Each depends on the octaves
///   between two values of a parameter, or on axis_distance() between two sizes, which the family weights. Two
///   different values of a parameter with text values have a constant correlation.
/// - Only the nearest problems take part, and none at an infinite distance.
/// - Length scales are constants: a problem has few measurements, and constants that suit most kernel families predict
///   better than scales fitted to so few points.
class Transfer {
 public:
  using Costs = std::vector<std::pair<Configuration, double>>;

  /// The family's estimate of a cost, in the unit of all costs; nothing where the family has no model.
  using Model = std::function<std::optional<double>(const Configuration&, const Problem&)>;

  explicit Transfer(std::vector<Axis> axes, Model model = {}) : axes_(std::move(axes)), model_(std::move(model)) {}

  /// Adds measured costs of one problem, all in the unit of the model. If a configuration comes twice, the later cost
  /// counts. Costs of slow configurations may be lower bounds.
  void learn(const Problem& problem, const Costs& costs);
  /// The expected log(cost / cost of the fastest) of each of `configurations`. While little is measured, it is the
  /// model's estimate; empty if there is no model either. The same calls give the same answers.
  [[nodiscard]] std::vector<float> expected(const Problem& problem,
                                            const std::vector<Configuration>& configurations) const;

 private:
  struct Lesson {
    Problem problem;
    Costs costs;
  };

  /// log of the model's estimate.
  [[nodiscard]] std::optional<double> modelled(const Configuration& configuration, const Problem& problem) const;
  [[nodiscard]] std::vector<const Lesson*> nearest(const Problem& problem) const;
  /// Median of log(cost / modelled cost) over all lessons: the model may have been fitted to another device.
  [[nodiscard]] double bias(const std::vector<const Lesson*>& lessons) const;
  /// log(cost / cost of the fastest), as it is assumed of configurations without an estimate.
  [[nodiscard]] double loss_without_estimate(const std::vector<const Lesson*>& lessons) const;
  /// The value that the Gaussian process predicts: log(cost / modelled cost) less the bias, or log(cost / cost of the
  /// fastest) less `without_estimate`. Empty while too little is measured.
  [[nodiscard]] std::vector<double> residuals_of(const Problem& problem,
                                                 const std::vector<Configuration>& configurations,
                                                 const std::vector<const Lesson*>& nearest, double bias,
                                                 double without_estimate) const;

  std::vector<Axis> axes_;
  Model model_;
  std::vector<Lesson> lessons_;
};

}  // namespace heddle
