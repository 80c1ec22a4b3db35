// The end of a search: finals between the fastest configurations, verification, and the winner.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/tuner/finals.hpp"
#include "heddle/tuner/search/attempts.hpp"
#include "heddle/tuner/search/compile_queue.hpp"
#include "heddle/tuner/search/screener.hpp"
#include "heddle/tuner/tuning_progress.hpp"

namespace heddle {

/// The fastest configuration that was verified.
struct Winner {
  Finalist finalist;
  std::vector<std::string> ties;  ///< canonical texts of those that could not be told apart from it
};

/// Its arguments must outlive it.
class Decision {
 public:
  Decision(const SearchContext& context, Attempts& attempts, CompileQueue& queue, Verdicts& verdicts,
           Screener& screener, std::function<void(Stage)> report)
      : context_(context),
        attempts_(attempts),
        queue_(queue),
        verdicts_(verdicts),
        screener_(screener),
        report_(std::move(report)) {}

  /// Runs finals and verification until a winner is verified or no configuration is left. Finals that an earlier
  /// process had finished are taken from the journal. Failures are recorded at once.
  void reach();

  /// How long reach() will take, on a device of its own: seconds.
  [[nodiscard]] double expected_seconds() const;

  [[nodiscard]] const std::optional<Winner>& winner() const noexcept { return winner_; }
  /// The latest result of each finalist.
  [[nodiscard]] const std::map<std::size_t, Finalist>& finalists() const noexcept { return finalists_; }
  /// The measurements of the finals. Whoever stores the winner records them in the same transaction, because a part of
  /// the finals cannot be continued.
  [[nodiscard]] const std::vector<Measurement>& measurements() const noexcept { return measurements_; }

 private:
  bool take_from_journal();
  void run(std::vector<Finalist>& finalists);
  /// FinalsLimits::objective.
  [[nodiscard]] std::function<double(const Finalist&, double)> objective() const;
  [[nodiscard]] std::vector<Finalist> next_finalists() const;
  [[nodiscard]] bool faster_is_waiting(double time) const;
  /// `known`: the finals come from the journal, which includes the comparison with a busy core.
  void choose_winner(std::vector<Finalist>& finalists, bool known);
  bool compare_with_fewer_threads(const Finalist& candidate, const std::vector<Finalist>& finalists);
  /// Of a configuration with more host threads, against one with fewer.
  struct SharedCoreRatios {
    double gain = 1.0;  ///< on a quiet machine: how many times less it takes
    double loss = 1.0;  ///< while one core is busy: how many times longer it takes
  };
  std::optional<SharedCoreRatios> compare_on_shared_cores(std::size_t configuration, std::size_t other);
  [[nodiscard]] std::optional<std::size_t> twin_with_fewer_threads(std::size_t configuration) const;
  void record(const Finalist& finalist);

  const SearchContext& context_;
  Attempts& attempts_;
  CompileQueue& queue_;
  Verdicts& verdicts_;
  Screener& screener_;
  std::function<void(Stage)> report_;
  std::vector<Measurement> measurements_;
  std::map<std::size_t, Finalist> finalists_;
  std::optional<Winner> winner_;
};

}  // namespace heddle
