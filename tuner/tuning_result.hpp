// What one can ask of the tuner, and what it tells.
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
  /// Repetitions of a configuration that is still in the race while screening.
  int screening_repetitions = 3;
  /// While screening, a configuration this much slower than the best one cannot win.
  double hopeless = 1.25;
  /// How many of the fastest are re-timed, if they are no more than `contender` times as slow as the fastest; beside
  /// the default and the named ones that are not hopeless.
  std::size_t finalists = 8;
  double contender = 1.1;
  /// Likewise on a device of its own, whose times are quieter: of 450 finals on an H200 the winner had never been more
  /// than 1.7 % behind when screened.
  double quiet_contender = 1.03;
  /// Interleaved repetitions of the finals: at least, and at most if the medians do not separate before.
  int minimum_repetitions = 9;
  int maximum_repetitions = 31;
  /// Where other programs share the processor, more threads are chosen over fewer only if they lose no more while one
  /// core is taken than they gain on a quiet machine, and never more than this; each is measured so many times.
  double contended_loss = 1.4;
  int contended_repetitions = 6;
  /// Whether sizes between the problems are visited too, once these are done, in what is left of the budget: the
  /// dispatcher then chooses from winners at sizes that are no powers of two.
  bool between = false;
  /// The search for one problem ends when so many configurations in a row were no faster. Nothing: never.
  std::optional<std::int64_t> patience = {};
  /// It ends, too, at this fraction of the speed at which the device could do nothing but move the bytes and do the
  /// operations of KernelFamily::cost(), at the peak rates given (0: does not limit). Nothing: never.
  std::optional<double> target = {};
  double peak_bytes_per_second = 0.0;
  double peak_operations_per_second = 0.0;
};

/// Seconds of wall time, by what the tuner was doing.
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

/// Whether nothing may run on the device after a failure of this kind.
[[nodiscard]] bool takes_device_down(Status status);

/// What came out for one problem.
struct TuningResult {
  Problem problem;
  bool searched = false;           ///< false: a profile was verified again, with a few measurements
  std::string change;              ///< why: what has changed since it was made; empty if nothing
  bool between = false;            ///< a size between the problems that were asked for
  bool interrupted = false;        ///< somebody stopped it before a winner was verified
  std::optional<Profile> profile;  ///< the verified winner; nothing if interrupted or if all failed
  /// The untuned default was stopped in its first run after so many seconds: the budget is too short for this problem.
  std::optional<double> out_of_time;
  bool improved = false;                    ///< the winner of a problem visited later replaced the first one
  bool kept = false;                        ///< stored; false if the store had a better one that this run has not met
  NamedTime baseline;                       ///< the untuned default; name "default"
  std::vector<NamedTime> named;             ///< in the order of KernelFamily::named_configurations(), where they exist
  std::int64_t samples = 0;                 ///< S of every time here
  std::size_t valid = 0;                    ///< configurations that satisfy the constraints
  std::map<Status, std::int64_t> statuses;  ///< how the evaluations ended
  std::int64_t recalled = 0;                ///< evaluations that an earlier run had made
  Effort effort;
  [[nodiscard]] std::int64_t evaluations() const;
  /// Takes over the outcome of a later, shorter visit of the same problem, in which the winner took part again. Returns
  /// whether that changed the winner.
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
  std::optional<double> baseline;      ///< of this problem: the untuned default
  double fraction = 0.0;               ///< of the whole run, 0 to 1
  std::optional<double> seconds_left;  ///< of the budget; without one an estimate once there is something to go by
  Effort effort;                       ///< of the whole run
};

}  // namespace heddle
