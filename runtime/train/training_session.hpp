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
#include <utility>
#include <variant>
#include <vector>

#include "heddle/runtime/train/predictor.hpp"
#include "heddle/runtime/train/trainer.hpp"
#include "heddle/runtime/train/training_data.hpp"

namespace heddle {

/// How large scaled inputs may be.
struct InputLimit {
  double largest = 0.0;
  std::string setting;    ///< the option that it follows from, "--minimum-width 0.001", if there is one
  std::string_view held;  ///< what float32 can hold up to there: "distances in widths"
};

/// What a trainer brings into a session.
struct Beginning {
  OptionValues options;                ///< as training_options() returns them
  AnyNetwork network;                  ///< of a new model: it has learnt nothing yet
  InputLimit limit;                    ///< of the networks that there will be, and of a resumed model's
  Scale target_scale = Scale::zscore;  ///< regression: of a new model
};

class TrainingSession : public TrainingRun {
 protected:
  using Clock = std::chrono::steady_clock;

  /// What `job` and `observer` refer to must outlive this.
  TrainingSession(Device& device, const TrainingJob& job, const TrainingObserver& observer, Beginning beginning);

  [[nodiscard]] const Dataset& learn() const { return parts_.learn(); }
  [[nodiscard]] bool validating() const { return parts_.validation.rows() > 0; }
  /// Of all rows that this session learns or scores, once they are scaled: what its networks have to stand.
  [[nodiscard]] double largest_input() const;
  [[nodiscard]] bool stop() const { return observer_.stop && observer_.stop(); }
  void notice(const std::string& line) const {
    if (observer_.notice) observer_.notice(line);
  }

  /// Before the first epoch of this call: signs the model, and forgets the best epoch of a resumed one if it was the
  /// best on other rows, or by another measure.
  void begin();
  /// Whether the model is a resumed one that has learnt other rows than these: an epoch that it was stopped in begins
  /// anew. False if its file does not tell.
  [[nodiscard]] bool other_rows() const { return other_rows_; }
  /// Tells the observer how large the model's file may become if the numbers of the network take up to `bytes`.
  void announce(std::int64_t bytes) const;
  /// Shows the observer the model that training begins with, which has this network.
  void show_beginning(const AnyNetwork& network) const;
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
  /// Whether tell() will need a predictor.
  [[nodiscard]] bool scoring() const { return validating() || test_ != nullptr; }
  /// Scores the model's present network, completes `report` and the last record of the history with that, and tells the
  /// observer. `start`: of the time reported; `last`: the mapping at the end of the epoch.
  void tell(EpochReport report, Clock::time_point start, const Candidate& last);
  /// The line about an ending that means the same for every network; empty for the others.
  [[nodiscard]] std::string line_about(Ending ending) const;
  /// What is said of a training that was stopped within an epoch of so many rows.
  [[nodiscard]] static std::string where_it_stands(const TrainingState& state, std::int64_t rows);

  Device& device_;
  const TrainingObserver& observer_;
  const Dataset* test_;
  OptionValues options_;
  std::uint64_t seed_;
  DataParts parts_;
  Model model_;                           // of the moment
  std::unique_ptr<Predictor> predictor_;  // made by the trainer, where scoring()
  std::vector<EpochReport> reports_;

 private:
  /// Throws Error(usage) where a row that is to be learnt, scaled as the options say, is beyond the limit; Error(input)
  /// for the other rows.
  void check_ranges(const InputLimit& limit) const;

  void compare_with_promise(const EpochReport& report, const Candidate& last);

  std::string digest_;  // of the rows
  bool other_rows_;
  Clock::time_point next_copy_ = Clock::now();
  bool told_slow_ = false;
};

/// A trainer of networks of one kind whose runs are of one class: Session(device, known, job, observer) trains, and
/// Session::predictor(device, known, network, notice) makes a Predictor.
template <NetworkKind Kind, class Session>
class SessionTrainer final : public Trainer {
 public:
  /// `options` must outlive this, as `meaning` and the families do.
  SessionTrainer(std::string_view meaning, const std::vector<Option>& options,
                 std::vector<const KernelFamily*> families)
      : meaning_(meaning), options_(options), families_(std::move(families)) {}

  std::string_view name() const override { return Kind::kName; }
  std::string_view meaning() const override { return meaning_; }
  const std::vector<Option>& options() const override { return options_; }
  const std::vector<const KernelFamily*>& families() const override { return families_; }
  std::unique_ptr<TrainingRun> begin(Device& device, const Knowledge& known, const TrainingJob& job,
                                     const TrainingObserver& observer) const override {
    return std::make_unique<Session>(device, known, job, observer);
  }
  std::unique_ptr<Predictor> predictor(Device& device, const Knowledge& known, const AnyNetwork& network,
                                       const Notice& notice) const override {
    return Session::predictor(device, known, std::get<Kind>(network), notice);
  }

 private:
  std::string_view meaning_;
  const std::vector<Option>& options_;
  std::vector<const KernelFamily*> families_;
};

}  // namespace heddle
