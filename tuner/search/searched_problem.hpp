// One problem as its search sees it: its configurations by index, and which of them play a part of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heddle/tuner/evaluator.hpp"

namespace heddle {

/// Does not change once it is made. The evaluator must outlive it.
class SearchedProblem {
 public:
  SearchedProblem(const Evaluator& evaluator, Problem problem);

  [[nodiscard]] const Problem& problem() const noexcept { return problem_; }
  /// Every configuration that the problem allows. All indices of a search refer to this list.
  [[nodiscard]] const std::vector<Configuration>& configurations() const noexcept { return configurations_; }
  [[nodiscard]] const Configuration& at(std::size_t configuration) const { return configurations_[configuration]; }
  /// The index of the configuration with this canonical text; nothing if the problem does not allow it.
  [[nodiscard]] std::optional<std::size_t> find(const std::string& text) const;

  [[nodiscard]] const Configuration& untuned() const noexcept { return untuned_; }
  [[nodiscard]] bool is_untuned(std::size_t configuration) const { return at(configuration) == untuned_; }
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
  const Evaluator& evaluator_;
  Problem problem_;
  std::vector<Configuration> configurations_;
  std::unordered_map<std::string, std::size_t> indices_;  ///< by canonical text
  Configuration untuned_;
  std::vector<std::pair<std::string, Configuration>> named_;
  std::vector<std::size_t> protected_;
};

}  // namespace heddle
