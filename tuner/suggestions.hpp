// What to try at a problem, after what was measured at others.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/tuner/agenda.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/problem_search.hpp"
#include "heddle/tuner/transfer.hpp"

namespace heddle {

/// Evaluator and profiles must outlive it.
class Suggestions {
 public:
  Suggestions(const Evaluator& evaluator, const KnownProfiles& known);

  void learn(const Problem& problem, const Transfer::Costs& costs) { transfer_.learn(problem, costs); }

  /// log(cost / cost of the fastest) that is to be expected of each configuration of a search, from the family's model
  /// and other problems. Empty without the one if too little is known of the others.
  [[nodiscard]] std::vector<float> expected(const ProblemSearch& search) const;
  /// Winners of the nearest problems, and those of which the most is expected.
  [[nodiscard]] std::vector<Configuration> first(const ProblemSearch& search, const std::vector<float>& expected) const;
  /// At a problem that was visited before: what first() names now and was not tried there, behind the winner. Empty if
  /// there is nothing new.
  [[nodiscard]] std::vector<Configuration> later(const ProblemSearch& search, const std::set<std::string>& tried,
                                                 const Profile& winner) const;

 private:
  const KnownProfiles& known_;
  Transfer transfer_;
};

}  // namespace heddle
