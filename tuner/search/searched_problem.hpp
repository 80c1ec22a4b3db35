// One problem as its searches see it: its configurations by number, and which of them play a part of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/profiles/cost_model.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/space/candidate_space.hpp"

namespace heddle {

/// Made once for all visits of a problem in a run. The evaluator must outlive it.
class SearchedProblem {
 public:
  /// `gives_up`, `stop`: as of candidate_space(). `model`: by which the device would choose; null if there is none.
  SearchedProblem(const Evaluator& evaluator, Problem problem, const Stop& gives_up, const Stop& stop,
                  const CostModel* model = nullptr);
  SearchedProblem(const SearchedProblem&) = delete;  // its spaces refer to it
  SearchedProblem& operator=(const SearchedProblem&) = delete;

  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  /// The configurations that the problem allows and a strategy chooses from. Their numbers are those of a search.
  [[nodiscard]] CandidateSpace& space() const noexcept { return *candidates_; }
  [[nodiscard]] Configuration at(std::size_t configuration) const;
  /// The number of a configuration; nothing if the problem does not allow it. One with a parameter that is chosen last
  /// gets a number, beyond those of the space, when it is asked for.
  [[nodiscard]] std::optional<std::size_t> find(const Configuration& configuration) const;
  /// Whether a configuration has a parameter that is chosen last: no strategy knows of it.
  [[nodiscard]] static bool is_refined(std::size_t configuration) { return configuration >= kFirstRefined; }
  /// SearchSpace::refinements(), as numbers.
  [[nodiscard]] std::vector<std::size_t> refinements(std::size_t configuration) const;
  /// The same by canonical text; nothing if the space no longer has it.
  [[nodiscard]] std::optional<std::size_t> find(const std::string& text) const;
  /// How many configurations the problem allows, rounded; an estimate if there are too many to list.
  [[nodiscard]] std::size_t count() const;

  [[nodiscard]] const Configuration& untuned() const noexcept { return untuned_; }
  [[nodiscard]] bool is_untuned(std::size_t configuration) const { return configuration == untuned_number_; }
  /// What the model expects to be the fastest, as of expected_fastest(): the device would run it if it were not tuned.
  /// Nothing without a model, or if the space is too large to be listed.
  [[nodiscard]] std::optional<std::size_t> expected_fastest() const noexcept { return expected_fastest_; }
  /// The named configurations that exist for these sizes, whether the problem allows them or not.
  [[nodiscard]] const std::vector<std::pair<std::string, Configuration>>& named() const noexcept { return named_; }
  /// The untuned default, then the named configurations, as far as the problem allows them. They are never pruned, and
  /// finalists unless they are far slower than the fastest.
  [[nodiscard]] const std::vector<std::size_t>& protected_configurations() const noexcept { return protected_; }
  [[nodiscard]] bool is_protected(std::size_t configuration) const;

  [[nodiscard]] std::int64_t host_threads(std::size_t configuration) const;
  /// Number of parameters whose value differs from that in `from`.
  [[nodiscard]] std::size_t differing_parameters(std::size_t configuration, const Configuration& from) const;

 private:
  static constexpr std::size_t kFirstRefined = std::size_t{1} << 48U;  ///< no space has so many numbers

  const Evaluator& evaluator_;
  Problem problem_;
  SearchSpace space_;
  std::unique_ptr<CandidateSpace> candidates_;
  std::unique_ptr<std::vector<Configuration>> refined_ = std::make_unique<std::vector<Configuration>>();
  Configuration untuned_;
  std::optional<std::size_t> untuned_number_;  ///< nothing if the problem does not allow it
  std::optional<std::size_t> expected_fastest_;
  std::vector<std::pair<std::string, Configuration>> named_;
  std::vector<std::size_t> protected_;
};

}  // namespace heddle
