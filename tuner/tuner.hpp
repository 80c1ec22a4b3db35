// The tuning loop: screens many configurations cheaply, re-times the best, verifies and keeps the winner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/stop_condition.hpp"
#include "heddle/tuner/strategy.hpp"

namespace heddle {

struct TunerOptions {
  std::string strategy{strategies().front().name};
  std::uint64_t seed = 1;
  /// Repetitions of a configuration that is still in the race while screening.
  int screening_repetitions = 3;
  /// While screening, a configuration this much slower than the best one cannot win.
  double hopeless = 1.25;
  /// How many of the fastest are re-timed, beside the default and the named ones.
  std::size_t finalists = 8;
  /// Interleaved repetitions of the finals: at least, and at most if the medians do not separate before.
  int minimum_repetitions = 7;
  int maximum_repetitions = 31;
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

/// What came out for one problem.
struct TuningResult {
  Problem problem;
  bool searched = false;                    ///< false: a stale profile was re-verified, with a few measurements
  bool interrupted = false;                 ///< somebody stopped it before a winner was verified
  std::optional<Profile> profile;           ///< the verified winner; nothing if interrupted or if all failed
  bool kept = false;                        ///< stored; false if another process had stored a better one meanwhile
  NamedTime baseline;                       ///< the untuned default; name "default"
  std::vector<NamedTime> named;             ///< in the order of KernelFamily::named_configurations(), where they exist
  std::int64_t samples = 0;                 ///< S of every time here
  std::size_t valid = 0;                    ///< configurations that satisfy the constraints
  std::map<Status, std::int64_t> statuses;  ///< how the evaluations ended
  Effort effort;
  [[nodiscard]] std::int64_t evaluations() const;
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

struct TunerCallbacks {
  std::function<void(const TuningProgress&)> progress;  ///< after every evaluation and every stage
  std::function<void(const TuningResult&)> result;      ///< after every problem
};

/// Evaluator and store must outlive it.
class Tuner {
 public:
  Tuner(Evaluator& evaluator, ProfileStore& store, TunerOptions options = {}, TunerCallbacks callbacks = {});

  /// Stale profiles of this family and device are re-verified first, whether or not they are among `problems`; the
  /// rest of the budget is shared out evenly, problems without a profile first. However short the budget, every problem
  /// reached tries the default, the named configurations, its present profile and the winners of problems like it, and
  /// ends with a verified profile unless interrupted. Everything measured is in the store when this returns or throws,
  /// except what the store refused. Problems never reached have no result. Throws Error(profiles), Error(device).
  [[nodiscard]] std::vector<TuningResult> tune(const std::vector<Problem>& problems, StopCondition& stop);

 private:
  Evaluator& evaluator_;
  ProfileStore& store_;
  TunerOptions options_;
  TunerCallbacks callbacks_;
};

}  // namespace heddle
