// The parts of a training that do not depend on the network: options and data, the validation part, scores, reports,
// the final model. A trainer derives its own session and adds how its network learns.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/runtime/train/predictor.hpp"
#include "heddle/runtime/train/trainer.hpp"
#include "heddle/runtime/train/training_data.hpp"

namespace heddle {

class TrainingSession : public TrainingRun {
 protected:
  using Clock = std::chrono::steady_clock;

  /// `options`: as training_options() returns them. What `job` and `observer` refer to must outlive this.
  TrainingSession(Device& device, const TrainingJob& job, const TrainingObserver& observer, OptionValues options,
                  std::string_view trainer);

  [[nodiscard]] const Dataset& learn() const { return parts_.learn(); }
  [[nodiscard]] bool validating() const { return parts_.validation.rows() > 0; }
  [[nodiscard]] bool stop() const { return observer_.stop && observer_.stop(); }
  void notice(const std::string& line) const {
    if (observer_.notice) observer_.notice(line);
  }

  /// Before the first epoch of this call: signs the model, and forgets the best epoch of a resumed one if it was the
  /// best on other rows, or by another measure.
  void begin();
  /// Tells the observer how large the file of a model with up to `rules` rules may become.
  void announce(std::int64_t rules) const;
  /// Hands the observer the result so far, `make()`, if it wants one now. At most one part in 20 of the time goes into
  /// copies.
  template <class Make>
  void keep(const Make& make) {
    using namespace std::chrono_literals;
    const auto start = Clock::now();
    if (!observer_.keep || start < next_copy_) return;
    observer_.keep(make());
    const auto end = Clock::now();
    next_copy_ = end + std::max<Clock::duration>(1s, 20 * (end - start));
  }
  /// Where there is something to score; `numbers`, `max_rules`: as Predictor takes them.
  void open_predictor(const std::vector<Profile>& profiles, std::int64_t numbers, std::int64_t max_rules);
  /// Scores the model's present network, completes `report` and the last record of the history with that, and tells the
  /// observer. `start`: of the time reported; `last`: the mapping at the end of the epoch.
  void tell(EpochReport report, Clock::time_point start, const Candidate& last);
  /// The line about an ending that means the same for every network; empty for the others.
  [[nodiscard]] std::string line_about(Ending ending) const;

  Device& device_;
  const TrainingObserver& observer_;
  const Dataset* test_;
  OptionValues options_;
  std::uint64_t seed_;
  DataParts parts_;
  Model model_;  // of the moment
  std::optional<Predictor> predictor_;
  std::vector<EpochReport> reports_;

 private:
  /// Throws Error(usage) where float32 cannot hold the distances between the rows that are to be learnt, scaled and
  /// measured in widths as the options say; Error(input) for the other rows.
  void check_ranges() const;

  void compare_with_promise(const EpochReport& report, const Candidate& last);

  Clock::time_point next_copy_ = Clock::now();
  bool told_slow_ = false;
};

/// A trainer whose runs are of one class: Session(device, profiles, job, observer).
template <class Session>
class SessionTrainer final : public Trainer {
 public:
  /// `options` must outlive this, as the names do.
  SessionTrainer(std::string_view name, std::string_view meaning, const std::vector<Option>& options)
      : name_(name), meaning_(meaning), options_(options) {}

  std::string_view name() const override { return name_; }
  std::string_view meaning() const override { return meaning_; }
  const std::vector<Option>& options() const override { return options_; }
  std::unique_ptr<TrainingRun> begin(Device& device, const std::vector<Profile>& profiles, const TrainingJob& job,
                                     const TrainingObserver& observer) const override {
    return std::make_unique<Session>(device, profiles, job, observer);
  }

 private:
  std::string_view name_, meaning_;
  const std::vector<Option>& options_;
};

}  // namespace heddle
