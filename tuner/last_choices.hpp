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
  /// was learnt of the problem before about the same values counts no more. What is beside it may have been learnt
  /// before.
  void learn(const Problem& problem, const std::vector<std::pair<Configuration, double>>& costs);
  /// Expects nothing of a configuration any more: it is wrong.
  void forget(const Problem& problem, const Configuration& configuration);
  /// What a configuration cost when it was learnt last.
  [[nodiscard]] std::optional<double> cost(const Problem& problem, const std::string& configuration) const;
  /// Up to `most` configurations of that problem with such values that are expected to cost less than `fastest` by more
  /// than the noise of a measurement, the cheapest first: those of which the costs without are known. The values do
  /// what they did on average over where they were tried together, and what each of them did by itself. So values that
  /// did good apart are tried together, too, and what is slow without them may be the fastest with them.
  [[nodiscard]] std::vector<Configuration> worth_trying(const Problem& problem, double fastest, std::size_t most) const;
  /// Likewise, those that may be as good as `fastest`: the first that is allowed and not among `tried` (texts).
  [[nodiscard]] std::optional<Configuration> untried(const Problem& problem, double fastest,
                                                     const std::set<std::string>& tried) const;
  /// Changes whenever something is learnt of what values are worth.
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

  struct Known {
    std::string kind;  ///< empty if it has such values, or none has a meaning there
    double cost;
  };

  /// Configurations that are expected to cost less than `most`, by text, with that cost, the cheapest first.
  [[nodiscard]] std::vector<std::pair<double, std::string>> cheaper(const Problem& problem, double most) const;
  /// What is worth adding to a configuration of that kind, the best first.
  [[nodiscard]] const std::vector<Worth>& by_gain(const std::string& kind) const;
  [[nodiscard]] std::vector<Worth> expected_gains(const Configuration& usual) const;
  /// log(cost / cost without it) of each value ("wait=5"), if those of several values add up: ridge regression.
  [[nodiscard]] std::map<std::string, double> gains_of_values() const;
  /// The names of the parameters that are chosen last and have a meaning there.
  [[nodiscard]] std::string kind(const Configuration& configuration) const;

  SearchSpace space_;
  /// log(cost / cost without these values), by what they add to a configuration's text, at each problem.
  std::map<std::string, std::map<Problem, double>> gains_;
  std::map<Problem, std::map<std::string, Known>> known_;  ///< by text
  std::map<std::string, Configuration> of_kind_;           ///< a configuration of each kind
  std::size_t revision_ = 0;
  /// By kind: the problems where most values were tried, or where somebody tries them.
  std::map<std::string, std::set<Problem>> found_out_;
  mutable std::map<std::string, std::pair<std::size_t, std::vector<Worth>>>
      by_gain_;  ///< by kind: revision(), and what
};

}  // namespace heddle
