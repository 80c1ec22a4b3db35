// What the values of parameters that are chosen last were worth at the problems of a run (Parameter::chosen_last). They
// depend on the card more than on the problem, so a few problems may find out for the others.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/search_space.hpp"

namespace heddle {

class LastChoices {
 public:
  explicit LastChoices(SearchSpace space) : space_(std::move(space)) {}

  /// Learns from the costs of one problem: of every configuration with such values beside the same one without. What
  /// was learnt of the problem before about the same values counts no more.
  void learn(const Problem& problem, const std::vector<std::pair<Configuration, double>>& costs);
  /// `fastest` with values that are expected to make it faster, those that do most first: as they did, on average over
  /// where they were tried together, and as each of them did by itself. So values that did good apart are tried
  /// together, too. What is within the noise of a measurement is not worth it.
  [[nodiscard]] std::vector<Configuration> worth_trying(const Configuration& fastest) const;
  /// The first of worth_trying() for the winner of a problem that is allowed there and not among `tried` (texts), unless
  /// it is expected to be slower than the winner by more than the noise of a measurement.
  [[nodiscard]] std::optional<Configuration> untried(const Configuration& winner, const Problem& problem,
                                                     const std::set<std::string>& tried) const;
  /// Changes whenever something is learnt.
  [[nodiscard]] std::size_t revision() const noexcept { return revision_; }
  /// Takes on, for the others too, to find out at a problem what the values are worth of the parameters that `fastest`
  /// has. Returns false if most of them were tried at enough problems, or others have taken that on.
  [[nodiscard]] bool take_on(const Configuration& fastest, const Problem& problem);
  /// For who has taken that on: up to so many of `fastest` with several other values at a time, drawn among what nobody
  /// tried. Values may do good together that do none apart.
  [[nodiscard]] std::vector<Configuration> drawn(const Configuration& fastest, std::size_t count) const;

 private:
  struct Worth {
    std::string added;  ///< to the text of a configuration that has no such values
    double gain;        ///< expected log(cost / cost without)
  };

  /// What is worth adding to `usual`, which has no such values, the best first.
  [[nodiscard]] const std::vector<Worth>& by_gain(const Configuration& usual) const;
  [[nodiscard]] std::vector<Worth> expected_gains(const Configuration& usual) const;
  /// log(cost / cost without it) of each value ("wait=5"), if those of several values add up: ridge regression.
  [[nodiscard]] std::map<std::string, double> gains_of_values() const;
  /// The names of the parameters that are chosen last and have a meaning there.
  [[nodiscard]] std::string kind(const Configuration& configuration) const;

  SearchSpace space_;
  /// log(cost / cost without these values), by what they add to a configuration's text, at each problem.
  std::map<std::string, std::map<Problem, double>> gains_;
  std::size_t revision_ = 0;
  /// By kind: the problems where most values were tried, or where somebody tries them.
  std::map<std::string, std::set<Problem>> found_out_;
  mutable std::map<std::string, std::pair<std::size_t, std::vector<Worth>>> by_gain_;  ///< by kind: revision(), and what
};

}  // namespace heddle
