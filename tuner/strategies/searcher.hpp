// The parts that guided strategies share: the observations so far, and searchers that propose from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "heddle/tuner/space/candidate_space.hpp"
#include "heddle/tuner/strategy.hpp"

namespace heddle {

/// Everything proposed and observed so far.
class Knowledge {
 public:
  static constexpr double kFailed = std::numeric_limits<double>::infinity();

  explicit Knowledge(const SearchTask& task);

  [[nodiscard]] CandidateSpace& space() const noexcept { return space_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  /// As SearchTask::expected; 0 if nothing is.
  [[nodiscard]] double expected(std::size_t configuration) const {
    return configuration < expected_.size() ? static_cast<double>(expected_[configuration]) : 0.0;
  }

  /// The observed configurations in their order, each once.
  [[nodiscard]] const std::vector<std::size_t>& history() const noexcept { return history_; }
  /// The configurations that were proposed and not observed yet, in their order.
  [[nodiscard]] const std::vector<std::size_t>& under_way() const noexcept { return under_way_; }
  /// The number of the next proposal: observed configurations plus those in flight.
  [[nodiscard]] std::size_t step() const noexcept { return history_.size() + under_way_.size(); }
  /// Neither observed nor under way.
  [[nodiscard]] bool open(std::size_t configuration) const {
    return configuration >= open_.size() || open_[configuration];
  }
  /// The same by number. Configurations beyond its end are open.
  [[nodiscard]] const std::vector<bool>& open() const noexcept { return open_; }
  [[nodiscard]] bool observed(std::size_t configuration) const {
    return configuration < observed_.size() && observed_[configuration];
  }
  /// Of an observed configuration; kFailed if it failed.
  [[nodiscard]] double cost(std::size_t configuration) const { return costs_[configuration]; }
  /// The fastest, fastest first, at most `count`; none that failed.
  [[nodiscard]] std::vector<std::size_t> fastest(std::size_t count) const;
  /// The first open configuration in a random order; nothing if none is open. Listed spaces that share configurations
  /// have them in the same order. In a space that is not listed, an open configuration is drawn; nothing if many
  /// attempts found none.
  [[nodiscard]] std::optional<std::size_t> untouched() const;

  void propose(std::size_t configuration);
  void observe(std::size_t configuration, const Observation& observation);

 private:
  void make_room(std::size_t configuration);

  CandidateSpace& space_;
  std::uint64_t seed_;
  std::vector<float> expected_;
  mutable std::vector<std::size_t> order_;  // random; of a listed space, once it is asked for: most searches never do
  mutable std::size_t first_open_ = 0;      // in order_
  std::vector<bool> open_, observed_;
  std::vector<double> costs_;
  std::vector<std::size_t> history_, under_way_;
  std::vector<std::size_t> ranking_;  // of history_, fastest first, without failures
};

/// A way to search. Its state depends only on the observations in their order, not on who proposed them. An interrupted
/// search therefore continues once it is told the same observations.
class Searcher {
 public:
  virtual ~Searcher() = default;
  /// An open configuration. Nothing only if there is none.
  [[nodiscard]] virtual std::optional<std::size_t> propose(const Knowledge& known) = 0;
  /// Called after `configuration` was added to the history.
  virtual void learn(const Knowledge& known, std::size_t configuration) = 0;
};

/// `space` outlives the searcher.
using MakeSearcher = std::unique_ptr<Searcher> (*)(const CandidateSpace& space, const SearchConstants& constants);
[[nodiscard]] std::unique_ptr<Searcher> local_searcher(const CandidateSpace& space, const SearchConstants& constants);
[[nodiscard]] std::unique_ptr<Searcher> annealing_searcher(const CandidateSpace& space,
                                                           const SearchConstants& constants);
[[nodiscard]] std::unique_ptr<Searcher> genetic_searcher(const CandidateSpace& space, const SearchConstants& constants);
[[nodiscard]] std::unique_ptr<Searcher> model_searcher(const CandidateSpace& space, const SearchConstants& constants);

/// The strategy that one searcher makes.
[[nodiscard]] std::unique_ptr<Strategy> search_with(const SearchTask& task, MakeSearcher make);

}  // namespace heddle
