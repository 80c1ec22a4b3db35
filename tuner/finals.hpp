// The fastest configurations of a screening, timed in turn until they can be told apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/profiles/status.hpp"
#include "heddle/tuner/evaluator.hpp"

namespace heddle {

struct Finalist {
  std::size_t configuration = 0;    ///< index in the list of the search
  std::vector<double> times;        ///< microseconds per sample; entry i of all finalists comes from the same round
  std::vector<double> values = {};  ///< of the objective, one for each of `times`; empty: the times themselves
  bool beaten = false;              ///< dropped out: clearly slower than the leader of that round
  bool yields_to_fewer_threads = false;  ///< a finalist with fewer threads is preferred: on a busy machine this one
                                         ///< loses more than it gains on a quiet one
  Status status = Status::unverified;
  std::string message;       ///< if it failed
  double worst_error = 0.0;  ///< once verified
  std::optional<KernelResources> resources = {};
  std::optional<double> energy = {};  ///< joules per sample, if it was measured
  /// What decides.
  [[nodiscard]] const std::vector<double>& costs() const { return values.empty() ? times : values; }
  [[nodiscard]] bool failed() const { return status != Status::unverified && status != Status::correct; }
};

struct FinalsLimits {
  int minimum_rounds = 9;  ///< of the fastest finalist, so that its median is worth something
  int maximum_rounds = 31;
  std::uint64_t seed = 1;  ///< of the order within each round
  /// Called after a round. A round for which it is true is timed again, at most `minimum_rounds` rounds in all.
  std::function<bool()> disturbed = {};
  bool energy = false;  ///< whether the energy of every finalist is measured before the first round
  /// The objective's value of a finalist that took so many microseconds. Empty: the time decides.
  std::function<double(const Finalist&, double time)> objective = {};
};

/// Times all finalists once per round. The order changes from round to round, so that drifting clocks favour none.
/// Finalists that are clearly slower than the leader drop out, from the fifth round on. After the
/// minimum of rounds, the finals end when one finalist is left, or all that are left are equally fast. They also end
/// after the last round, or when `stop` returns true between two rounds. A finalist that fails gets its status and no
/// times. A failure that may have taken the device down ends the finals. `prepare` makes the runner of a configuration.
void run_finals(std::vector<Finalist>& finalists,
                const std::function<std::unique_ptr<Runner>(std::size_t configuration)>& prepare,
                const FinalsLimits& limits, const std::function<bool(int round)>& stop);

/// The finalists that can win, fastest first. Those that cannot be told apart from the fastest come right behind it:
/// the first `ties` of the list, the fastest included.
struct Ranking {
  std::vector<std::size_t> order;  ///< indices into the finalists
  std::size_t ties = 0;
};
[[nodiscard]] Ranking rank(const std::vector<Finalist>& finalists);

}  // namespace heddle
