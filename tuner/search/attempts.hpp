// The configurations that a visit has tried, and what became of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/tuner/search/searched_problem.hpp"
#include "heddle/tuner/strategy.hpp"

namespace heddle {

/// The problem must outlive it.
class Attempts {
 public:
  explicit Attempts(const SearchedProblem& problem) : problem_(problem) {}

  /// Where the outcome of an attempt comes from.
  enum class Origin {
    this_run,     ///< measured in this visit, or by this run before it was restarted
    earlier_run,  ///< measured by an earlier run
    repeated,     ///< tried and counted in an earlier visit of this run
  };
  void add(std::size_t configuration, const Observation& outcome, Origin origin);
  /// Makes pruned configurations candidates again, with their lower bounds as costs: they may have been pruned against
  /// a configuration that turned out to be wrong.
  void reinstate_pruned();

  /// By configuration, in the order of their indices.
  [[nodiscard]] const std::map<std::size_t, Observation>& outcomes() const noexcept { return outcomes_; }
  /// Nothing if it was not tried.
  [[nodiscard]] const Observation* find(std::size_t configuration) const;
  /// Whether an earlier visit of this run counts this attempt.
  [[nodiscard]] bool is_repeated(std::size_t configuration) const { return repeated_.contains(configuration); }
  /// Number of configurations tried in this visit and in no earlier one.
  [[nodiscard]] std::int64_t evaluations() const {
    return static_cast<std::int64_t>(outcomes_.size() - repeated_.size());
  }
  /// Attempts that an earlier run had measured.
  [[nodiscard]] std::int64_t recalled() const noexcept { return recalled_; }

  /// Canonical texts of all configurations tried.
  [[nodiscard]] std::set<std::string> tried() const;
  /// The cost of a configuration in microseconds per sample; a lower bound if it was pruned. Nothing if it was not
  /// tried or failed.
  [[nodiscard]] std::optional<double> cost(const std::string& configuration) const;
  /// cost() of every configuration that was tried and did not fail.
  [[nodiscard]] std::vector<std::pair<Configuration, double>> costs() const;
  /// The configuration of the lowest cost so far, the first of several; not one that was pruned.
  [[nodiscard]] std::optional<std::size_t> fastest() const;
  /// The lowest cost so far, microseconds per sample.
  [[nodiscard]] std::optional<double> best() const;

 private:
  const SearchedProblem& problem_;
  std::map<std::size_t, Observation> outcomes_;
  std::set<std::size_t> repeated_;
  std::int64_t recalled_ = 0;
};

}  // namespace heddle
