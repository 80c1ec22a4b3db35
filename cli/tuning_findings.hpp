// What a tuning run found, as the report at its end and as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/cli/json.hpp"
#include "heddle/cli/outcomes.hpp"
#include "heddle/kernels/kernel_family.hpp"
#include "heddle/profiles/fitted_model.hpp"
#include "heddle/tuner/single_mapping.hpp"
#include "heddle/tuner/tuning_result.hpp"

namespace heddle::cli {

/// 0 for none.
[[nodiscard]] double mean_of(const std::vector<double>& values);

/// The sum of the results of a tuning run.
struct TuningSummary {
  std::size_t problems = 0, reached = 0, between = 0;
  std::int64_t evaluations = 0, recalled = 0;
  Outcomes statuses;
  Effort effort;         ///< of all devices together
  double seconds = 0.0;  ///< wall time
  /// What tuning pays in a family.
  struct Gain {
    double log_sum = 0.0;  ///< of the untuned default's time divided by the winner's
    std::size_t problems = 0;
    std::optional<SingleMapping> single = {};  ///< of the device with the most problems
    std::vector<FittedModel> models = {};      ///< of times, one of each device
  };
  std::map<std::string, Gain> gains;  ///< by family
  bool tried_more = false;            ///< for some problem, more than the untuned default was tried
  std::string compiler;
  std::set<std::string> verified_against;             ///< of the families: KernelFamily::verified_against()
  std::map<std::string, std::vector<double>> losses;  ///< expected at untuned sizes, by family: one of each device

  void add(const std::string& family, const TuningResult& result);
  /// The last lines of the report. `kept`: whether the profiles are kept in a database. `goal`: what they are for.
  [[nodiscard]] std::string text(bool kept, const Goal& goal) const;
  /// Advice after a search that was too short.
  [[nodiscard]] std::string advice() const;
  /// By family: how many times as fast the winners are as the default, and as the best single mapping.
  [[nodiscard]] Json gains_document() const;
  /// The models of times that the run has fitted.
  [[nodiscard]] Json models() const;
  /// By family: the mean over the devices, or null.
  [[nodiscard]] Json expected_losses() const;
};

/// What one device has found so far. The helper thread of LeaveInTime reads it while the search goes on.
class TuningFindings {
 public:
  explicit TuningFindings(std::string device) : device_(std::move(device)) {}

  /// The family has to outlive this.
  void begin(const KernelFamily& family);
  /// A problem is done, or an earlier result of it has been improved.
  void add(const TuningResult& result);
  /// The family is done. `found`: its results, all of them; none if the search was interrupted between two problems.
  void end(std::vector<TuningResult> found, std::optional<double> expected_loss, std::int64_t compiler_calls);
  /// Of the present family.
  void add(const SingleMapping& mapping);
  void add(const FittedModel& model);
  void took(double seconds);

  /// Adds all that was found to a summary and to records, those of the family that is being tuned included.
  void add_to(TuningSummary& summary, Json& results) const;
  /// The problems of the present family that have a profile.
  [[nodiscard]] std::set<Problem> finished() const;
  [[nodiscard]] std::int64_t compiler_calls() const;

 private:
  struct Found {
    const KernelFamily* kernels = nullptr;
    std::string family, unit, verified_against;
    std::optional<double> expected_loss = {};
    std::vector<TuningResult> results = {};
    std::optional<SingleMapping> single = {};
    std::optional<FittedModel> model = {};
  };

  std::string device_;
  mutable std::mutex mutex_;  ///< of the following
  std::vector<Found> families_;
  std::int64_t compiler_calls_ = 0;
  double seconds_ = 0.0;
};

/// Seconds by what they were spent on.
[[nodiscard]] Json to_json(const Effort& effort);

}  // namespace heddle::cli
