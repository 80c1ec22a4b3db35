// What `heddle tune` shows while it searches: a table of results, and how far it is.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/cli/output.hpp"
#include "heddle/kernels/kernel_family.hpp"
#include "heddle/tuner/tuning_progress.hpp"
#include "heddle/tuner/tuning_result.hpp"

namespace heddle::cli {

/// A table whose rows appear during the search, so the widths of its columns are fixed before. Safe to use from the
/// threads of several devices.
class ResultPrinter {
 public:
  /// `devices`: labels; with more than one, every row names its own. `described`: a kernel whose work is counted by its
  /// description, for columns with the rates of its winners; may be null.
  ResultPrinter(const std::vector<Problem>& problems, const std::vector<std::string>& devices,
                const KernelFamily* described);
  /// Prints the row of a problem, and the head of the table before the first; nothing if the search was interrupted
  /// before it found anything.
  void row(const std::string& device, const TuningResult& result);

 private:
  [[nodiscard]] std::string head(const std::vector<NamedTime>& named) const;
  [[nodiscard]] std::string text(const TuningResult& result) const;
  /// Of the described kernel.
  [[nodiscard]] bool has_metric(std::string_view name) const;

  std::mutex mutex_;
  static constexpr std::size_t kLeastWidth = 7;  ///< of "problem"

  std::size_t width_ = kLeastWidth, device_width_ = 0;
  const KernelFamily* described_;
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

}  // namespace heddle::cli
