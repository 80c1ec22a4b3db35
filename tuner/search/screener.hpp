// Tries single configurations of one problem: times them a few times, prunes the slow ones, verifies the fast ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/search/verdicts.hpp"

namespace heddle {

/// Context and verdicts must outlive it.
class Screener {
 public:
  Screener(const SearchContext& context, Verdicts& verdicts)
      : context_(context), verdicts_(verdicts), samples_(context.journal.known_samples().value_or(0)) {}

  /// Measures a configuration that the compiler is done with, and records the measurement. The first one that can be
  /// measured decides how many samples a repetition has. Throws Interrupted if its pilot run takes too long for the
  /// budget; out_of_time() then tells how long.
  Observation measure(std::size_t configuration, const Compilation::Done& done);
  /// Treats a configuration that the journal knows as if it had been measured now.
  Observation remember(std::size_t configuration, const Recollection& known);

  // While verification waits (Verdicts::wait()), what is measured is held back, so that each configuration is recorded
  // once, with the verdict.

  using Outcomes = std::vector<std::pair<std::size_t, Observation>>;
  /// Ends the wait: verifies the first configuration that is held, the default, and the fastest, and records all.
  /// Returns those that failed.
  Outcomes verify_held();
  /// Records what is held as it was measured. For a search that ends here: a continued run holds it, and verifies it.
  void record_held();

  /// Samples per repetition; 0 before anything was measured.
  [[nodiscard]] std::int64_t samples() const noexcept { return samples_; }
  /// Configurations whose time was measured.
  [[nodiscard]] std::int64_t timed() const noexcept { return timed_; }
  /// Goes on with the samples per repetition of an earlier process.
  void set_samples(std::int64_t samples) { samples_ = samples; }
  /// Seconds after which the pilot run was stopped; nothing if it was not.
  [[nodiscard]] const std::optional<double>& out_of_time() const noexcept { return out_of_time_; }

  /// How long the pilot run of a problem's default may take, in seconds, if `seconds_left` of the budget remain. A
  /// problem whose default takes longer is abandoned.
  [[nodiscard]] static double pilot_limit(double seconds_left);

 private:
  void find_samples(const Configuration& configuration);
  void time(std::size_t configuration, Screened& screened);
  bool verify(std::size_t configuration, double cost, Screened& screened);
  /// A configuration that was measured while verification waits.
  struct Held {
    std::size_t configuration;
    Observation outcome;
    std::optional<Screened> unrecorded;  ///< nothing: the journal has it
  };
  void hold(Held held);
  bool judge(Held& held);
  [[nodiscard]] bool has_value(std::size_t configuration, const Measured& measured) const;
  [[nodiscard]] double warming_seconds() const;

  const SearchContext& context_;
  Verdicts& verdicts_;
  std::int64_t samples_;
  std::int64_t timed_ = 0;
  std::vector<Held> held_;
  std::optional<double> out_of_time_;
};

}  // namespace heddle
