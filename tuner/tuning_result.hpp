// Options, results and progress of the tuner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/profiles/measurement.hpp"
#include "heddle/tuner/strategy.hpp"

namespace heddle {

struct TunerOptions {
  std::string strategy{strategies().front().name};
  std::uint64_t seed = 1;
  /// Repetitions of a configuration in the screening, unless it is pruned before.
  int screening_repetitions = 3;
  /// In the screening, a configuration whose cost is more than this factor times the pruning reference is pruned.
  double prune_factor = 1.25;
  /// Number of the fastest configurations that reach the finals, if their time is at most `finalist_factor` times the
  /// fastest. The default takes part as well, and so do named configurations within `prune_factor`.
  std::size_t finalists = 8;
  double finalist_factor = 1.1;
  /// `finalist_factor` for devices that do not share the host's processor. Their times are less noisy: in 450 finals on
  /// an H200, the winner was never more than 1.7 % behind in the screening.
  double quiet_finalist_factor = 1.03;
  /// Interleaved repetitions of the finals: at least; and at most, if the medians do not separate before.
  int minimum_repetitions = 9;
  int maximum_repetitions = 31;
  /// On a CPU, more host threads are preferred over fewer only if their slowdown while one core is busy is at most
  /// their speedup on a quiet machine, and at most `max_busy_core_loss`. Each is measured `busy_core_repetitions`
  /// times.
  double max_busy_core_loss = 1.4;
  int busy_core_repetitions = 6;
  /// Whether untuned sizes between the problems are visited after the problems, in the budget that is left. The
  /// dispatcher then also has winners at sizes that are no powers of two.
  bool tune_sizes_between = false;
  /// The search for one problem ends when this many configurations in a row were not faster. Nothing: no such limit.
  std::optional<std::int64_t> patience = {};
  /// The search also ends when it reaches this fraction of the roofline bound: the speed at which the bytes and
  /// operations of KernelFamily::work() take place at the peak rates (a rate of 0 does not limit). Nothing: no such
  /// limit.
  std::optional<double> target = {};
  double peak_bytes_per_second = 0.0;
  double peak_operations_per_second = 0.0;
};

/// Seconds of wall time, by activity of the tuner.
struct Effort {
  double waiting = 0.0;    ///< for the compiler
  double measuring = 0.0;  ///< preparation and warm-up included
  double verifying = 0.0;
  double total = 0.0;      ///< includes choosing and recording
  double compiling = 0.0;  ///< seconds of the compiler, part of them while something else was measured
  Effort& operator+=(const Effort& other);
};

struct NamedTime {
  std::string name;            ///< "gpu-fnn"
  std::string configuration;   ///< canonical text
  std::optional<double> time;  ///< median, microseconds per sample; nothing if it failed
  Status status = Status::unverified;
};

/// Whether a failure of this kind may leave the device unusable.
[[nodiscard]] bool takes_device_down(Status status);

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

enum class Stage { screening, finals, verification };
[[nodiscard]] std::string_view text(Stage stage);

struct TuningProgress {
  std::size_t problem_index = 0;  ///< from 0
  std::size_t problems = 0;
  const Problem* problem = nullptr;
  Stage stage = Stage::screening;
  std::int64_t evaluations = 0;  ///< of this problem
  std::size_t valid = 0;         ///< of this problem
  std::int64_t all_evaluations = 0;
  std::optional<double> best;          ///< of this problem, microseconds per sample
  std::optional<double> untuned;       ///< of this problem: the untuned default
  double fraction = 0.0;               ///< of the whole run, 0 to 1
  std::optional<double> seconds_left;  ///< of the budget; without one an estimate once there is something to go by
  Effort effort;                       ///< of the whole run
};

}  // namespace heddle
