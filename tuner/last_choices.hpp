// What the values of parameters that are chosen last were worth at the problems of a run (Parameter::chosen_last). They
// depend on the card more than on the problem, so one problem may find out for the others.
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
  /// `fastest` with values that made others faster, on average over where they were tried, those that did most first.
  /// What is within the noise of a measurement is not worth it.
  [[nodiscard]] std::vector<Configuration> worth_trying(const Configuration& fastest) const;
  /// The best that is known for `winner`: the first of worth_trying() without its own values that is allowed at the
  /// problem. Nothing if none is worth it; it may be the winner itself.
  [[nodiscard]] std::optional<Configuration> best(const Configuration& winner, const Problem& problem) const;
  /// Changes whenever something is learnt.
  [[nodiscard]] std::size_t revision() const noexcept { return revision_; }
  /// Takes on, for the others too, to find out what the values are worth of the parameters that `fastest` has. Returns
  /// false if most of them were tried at some problem, or another caller has taken that on.
  [[nodiscard]] bool take_on(const Configuration& fastest);

 private:
  /// What may be added to the text of `usual`, which has no such values, the best first.
  [[nodiscard]] std::vector<const std::string*> by_gain(const Configuration& usual) const;
  /// The names of the parameters that are chosen last and have a meaning there.
  [[nodiscard]] std::string kind(const Configuration& configuration) const;

  SearchSpace space_;
  /// log(cost / cost without these values), by what they add to a configuration's text, at each problem.
  std::map<std::string, std::map<Problem, double>> gains_;
  std::size_t revision_ = 0;
  std::set<std::string> known_;  ///< kinds that were found out, or that somebody finds out
};

}  // namespace heddle
