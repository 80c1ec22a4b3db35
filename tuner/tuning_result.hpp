// What a tuning run found for one problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/profiles/measurement.hpp"
#include "heddle/tuner/effort.hpp"

namespace heddle {

struct NamedTime {
  std::string name;            ///< "gpu-fnn"
  std::string configuration;   ///< canonical text
  std::optional<double> time;  ///< median, microseconds per sample; nothing if it failed
  Status status = Status::unverified;
  bool yields_to_fewer_threads = false;  ///< as in Finalist: a slower one with fewer threads was preferred
};

/// The outcome for one problem.
struct TuningResult {
  Problem problem;
  /// Whether a strategy searched. False if only a few given configurations were measured: for a profile that was
  /// measured again, or at a size between the problems.
  bool searched = false;
  std::string change;              ///< what has changed since the profile was made; empty if nothing
  bool is_between = false;         ///< a size between the problems that were asked for
  bool interrupted = false;        ///< the user stopped it before a winner was verified
  std::optional<Profile> profile;  ///< the verified winner; nothing if interrupted or if all failed
  /// The untuned default was stopped in its first run after so many seconds: the budget is too short for this problem.
  std::optional<double> out_of_time;
  /// The compiler was given up after so many seconds, in which it had not finished the untuned default or a finalist.
  std::optional<double> compiler_out_of_time;
  std::optional<KernelResources> resources = {};  ///< of the winner
  std::optional<double> energy = {};              ///< of the winner, joules per sample
  std::optional<double> objective = {};           ///< of the winner: its value, where the time is not the objective
  /// Of the winner: KernelFamily::metrics(), in their order; nothing where one has no value.
  std::vector<std::pair<std::string, std::optional<double>>> metrics = {};
  bool winner_changed = false;              ///< a later visit of this problem found another winner
  bool was_stored = false;                  ///< stored; false if a faster profile was stored already
  NamedTime untuned;                        ///< the untuned default; name "default"
  std::vector<NamedTime> named;             ///< in the order of KernelFamily::named_configurations(), where they exist
  std::int64_t samples = 0;                 ///< samples per repetition, for all times here
  std::size_t valid = 0;                    ///< configurations that satisfy the constraints
  std::map<Status, std::int64_t> statuses;  ///< number of evaluations by outcome
  std::int64_t recalled = 0;                ///< evaluations taken from earlier runs
  Effort effort;
  [[nodiscard]] std::int64_t evaluations() const;
  /// Adds a later visit of the same problem, in whose finals the winner took part again. Returns whether the winner
  /// changed.
  bool improve(const TuningResult& later);
};

}  // namespace heddle
