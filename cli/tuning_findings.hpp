// What a tuning run found, as the report at its end and as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/cli/json.hpp"
#include "heddle/cli/outcomes.hpp"
#include "heddle/kernels/kernel_family.hpp"
#include "heddle/tuner/tuner.hpp"

namespace heddle::cli {

/// The sum of the results of a tuning run.
struct TuningSummary {
  std::size_t problems = 0, reached = 0, between = 0;
  std::int64_t evaluations = 0, recalled = 0;
  Outcomes statuses;
  Effort effort;
  double log_gain = 0.0;
  std::size_t gains = 0;
  bool tried_more = false;  ///< for some problem, more than the untuned default was tried
  std::string compiler;

  void add(const TuningResult& result);
  /// The last lines of the report. `kept`: whether the profiles are kept in a database.
  [[nodiscard]] std::string text(bool kept) const;
  /// Advice after a search that was too short.
  [[nodiscard]] std::string advice() const;
};

/// What a run has found so far. The helper thread of LeaveInTime reads it while the search goes on.
struct TuningFindings {
  std::mutex mutex;       ///< of all members
  TuningSummary summary;  ///< of the families that are done, as are the next three
  Json results = Json::array(), losses = Json::object();
  std::int64_t compiler_calls = 0;
  std::string family, unit;           ///< that is being tuned, and what its work is counted in
  std::vector<TuningResult> present;  ///< its problems that are done

  /// The family `next` is tuned from now on.
  void begin(const KernelFamily& next);
  /// A problem is done, or an earlier result of it has been improved.
  void add(const TuningResult& result);
  /// The family is done. `found`: its results, all of them; none if the search was interrupted between two problems.
  void end(std::vector<TuningResult> found, std::optional<double> expected_loss, std::int64_t calls);
  /// How long the whole run took, seconds.
  void took(double seconds);
  /// Summary and results with those of the family that is being tuned. With the mutex held, or once the search is over.
  [[nodiscard]] std::pair<TuningSummary, Json> all() const;
};

/// Seconds by what they were spent on.
[[nodiscard]] Json to_json(const Effort& effort);

}  // namespace heddle::cli
