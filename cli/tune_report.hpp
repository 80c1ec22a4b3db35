// What `heddle tune` tells: rows of results, progress, the summary, records for --json.
#pragma once

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
#include "heddle/cli/output.hpp"
#include "heddle/kernels/kernel_family.hpp"
#include "heddle/tuner/tuning_progress.hpp"
#include "heddle/tuner/tuning_result.hpp"

namespace heddle::cli {

/// A table whose rows appear during the search, so the widths of its columns are fixed before. Safe to use from the
/// threads of several devices.
class ResultPrinter {
 public:
  /// `devices`: labels; with more than one, every row names its own.
  ResultPrinter(const std::vector<Problem>& problems, const std::vector<std::string>& devices);
  void row(const std::string& device, const TuningResult& result);

 private:
  [[nodiscard]] std::string head(const std::vector<NamedTime>& named) const;
  [[nodiscard]] std::string text(const TuningResult& result) const;

  std::mutex mutex_;
  std::size_t width_ = 7, device_width_ = 0;
  bool headed_ = false;
};

/// One line of progress for all devices of a run. Safe to use from their threads.
class TuneProgress {
 public:
  TuneProgress(bool quiet, std::vector<std::string> devices);
  void show(std::size_t device, const TuningProgress& progress);
  /// Removes the line while `print` prints others.
  template <class Print>
  void interrupted_by(const Print& print) {
    const std::scoped_lock lock(mutex_);
    bar_.clear();
    print();
    push_output();
  }

 private:
  std::mutex mutex_;
  ProgressBar bar_;
  std::vector<std::string> devices_;
  std::vector<double> fractions_;
};

[[nodiscard]] Json effort_record(const Effort& effort);

struct Summary {
  std::size_t problems = 0, reached = 0, between = 0;
  std::int64_t evaluations = 0, recalled = 0;
  Outcomes statuses;
  Effort effort;         ///< of all devices together
  double seconds = 0.0;  ///< wall time
  double log_gain = 0.0;
  std::size_t gains = 0;
  bool tried_more = false;  ///< for some problem, more than the untuned default was tried
  std::string compiler;
  std::map<std::string, std::vector<double>> losses;  ///< expected at untuned sizes, by family: one of each device

  void add(const TuningResult& result);
  /// `kept`: whether the profiles are kept in a database.
  [[nodiscard]] std::string text(bool kept) const;
  /// Advice after a search that was too short.
  [[nodiscard]] std::string advice() const;
  /// By family: the mean over the devices, or null.
  [[nodiscard]] Json expected_losses() const;
};

/// What one device has found so far. Others read it while the search goes on.
class Findings {
 public:
  explicit Findings(std::string device) : device_(std::move(device)) {}

  void begin(const KernelFamily& family);
  /// A problem is done, or an earlier result of it has been improved.
  void add(const TuningResult& result);
  /// The family is done. `found`: its results, all of them; none if the search was interrupted between two problems.
  void end(std::vector<TuningResult> found, std::optional<double> expected_loss, std::int64_t compiler_calls);
  void took(double seconds);

  /// Adds all that was found to a summary and to records, those of the family that is being tuned included.
  void add_to(Summary& summary, Json& results) const;
  /// The problems of the present family that have a profile.
  [[nodiscard]] std::set<Problem> finished() const;
  [[nodiscard]] std::int64_t compiler_calls() const;

 private:
  struct Found {
    std::string family, unit;
    std::optional<double> expected_loss = {};
    std::vector<TuningResult> results = {};
  };

  std::string device_;
  mutable std::mutex mutex_;  ///< of the following
  std::vector<Found> families_;
  std::int64_t compiler_calls_ = 0;
  double seconds_ = 0.0;
};

}  // namespace heddle::cli
