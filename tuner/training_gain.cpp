#include "heddle/tuner/training_gain.hpp"

#include <algorithm>
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
  Turns(const Trainer& trainer, Device& device, const std::vector<Profile>& profiles, const TrainingJob& job,
        TrainingObserver observer)
      : observer_(std::move(observer)) {
    observer_.epoch = [this, told = observer_.epoch](const EpochReport& report) {
      times_.push_back(report.microseconds_per_sample);
      const auto most = std::ranges::max_element(report.mappings, {}, &MappingUse::samples);
      if (most != report.mappings.end()) mapping_ = *most;
      if (told) told(report);
    };
    run_ = trainer.begin(device, profiles, job, observer_);
  }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  void take() {
    if (!ending_) ending_ = run_->advance();
  }
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

double TrainingGain::factor() const { return tuned.empty() ? 1.0 : median(untuned) / median(tuned); }

ComparedTraining train_by_turns(const Trainer& trainer, Device& device, const std::vector<Profile>& profiles,
                                const TrainingJob& job, const TrainingObserver& observer) {
  std::optional<Turns> with, without;
  try {
    with.emplace(trainer, device, profiles, job, observer);
    without.emplace(trainer, device, std::vector<Profile>(), job, TrainingObserver{.stop = observer.stop});
  } catch (const Interrupted&) {
    return {.result = stopped_at_the_start(job), .gain = {}};
  }
  Turns &tuned = *with, &untuned = *without;
  for (bool tuned_first = true; !tuned.ended(); tuned_first = !tuned_first) {
    (tuned_first ? tuned : untuned).take();
    (tuned_first ? untuned : tuned).take();
  }
  TrainingGain gain{.tuned = {}, .untuned = {}, .tuned_mapping = tuned.mapping(), .untuned_mapping = untuned.mapping()};
  const std::size_t rounds = std::min(tuned.times().size(), untuned.times().size());
  for (std::size_t i = 1; i < rounds; ++i) {
    gain.tuned.push_back(tuned.times()[i]);
    gain.untuned.push_back(untuned.times()[i]);
  }
  return {.result = tuned.finish(), .gain = std::move(gain)};
}

}  // namespace heddle
