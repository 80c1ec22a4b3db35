#include "heddle/tuner/training_gain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "heddle/kernels/stop.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

/// One of the two runs, and the times of its epochs.
class Turns {
 public:
  Turns(const Trainer& trainer, Device& device, const Knowledge& known, const TrainingJob& job,
        TrainingObserver observer)
      : observer_(std::move(observer)) {
    observer_.epoch = [this, told = observer_.epoch](const EpochReport& report) {
      times_.push_back(report.microseconds_per_sample);
      const auto most = std::ranges::max_element(report.mappings, {}, &MappingUse::samples);
      if (most != report.mappings.end()) mapping_ = *most;
      if (told) told(report);
    };
    run_ = trainer.begin(device, known, job, observer_);
  }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  void take() {
    if (run_ && !ending_) ending_ = run_->advance();
  }
  /// Frees what the run holds; its times stay.
  void give_up() { run_.reset(); }
  [[nodiscard]] bool ended() const { return ending_.has_value(); }
  [[nodiscard]] TrainingResult finish() { return run_->finish(*ending_); }
  [[nodiscard]] const std::vector<double>& times() const { return times_; }
  [[nodiscard]] const MappingUse& mapping() const { return mapping_; }

 private:
  TrainingObserver observer_;
  std::unique_ptr<TrainingRun> run_;
  std::optional<Ending> ending_;
  std::vector<double> times_;
  MappingUse mapping_;
};

}  // namespace

TrainingGain::Verdict TrainingGain::verdict() const {
  if (clearly_slower(untuned, tuned)) return Verdict::faster;
  return clearly_slower(tuned, untuned) ? Verdict::slower : Verdict::within_noise;
}

std::size_t TrainingGain::rounds_faster() const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < tuned.size(); ++i) count += tuned[i] < untuned[i] ? 1 : 0;
  return count;
}

double TrainingGain::factor() const { return tuned.empty() ? 1.0 : median(untuned) / median(tuned); }

ComparedTraining train_by_turns(const Trainer& trainer, Device& device, const Knowledge& known, const TrainingJob& job,
                                const TrainingObserver& observer) {
  std::optional<Turns> tuned, untuned;
  std::string failure;
  // What fails here is of no concern to the training with profiles, whose model the user wants.
  const auto unless_it_fails = [&](const auto& work) {
    if (!failure.empty()) return;
    try {
      work();
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& exception) {
      failure = exception.what();
      if (untuned) untuned->give_up();
      if (observer.notice) {
        observer.notice(
            fmt::format("the training without profiles failed ({}): the one with profiles goes on alone", failure));
      }
    }
  };
  try {
    tuned.emplace(trainer, device, known, job, observer);
    unless_it_fails([&] {
      untuned.emplace(trainer, device, Knowledge({}, known.models), job, TrainingObserver{.stop = observer.stop});
    });
  } catch (const Interrupted&) {
    return {.result = stopped_at_the_start(job), .gain = {}};
  }
  for (bool tuned_first = true; !tuned->ended(); tuned_first = !tuned_first) {
    if (tuned_first) tuned->take();
    unless_it_fails([&] { untuned->take(); });
    if (!tuned_first) tuned->take();
  }
  TrainingGain gain;
  gain.tuned_mapping = tuned->mapping();
  gain.failure = failure;
  if (untuned) {
    gain.untuned_mapping = untuned->mapping();
    const std::size_t rounds = std::min(tuned->times().size(), untuned->times().size());
    for (std::size_t i = 1; i < rounds; ++i) {
      gain.tuned.push_back(tuned->times()[i]);
      gain.untuned.push_back(untuned->times()[i]);
    }
  }
  return {.result = tuned->finish(), .gain = std::move(gain)};
}

}  // namespace heddle
