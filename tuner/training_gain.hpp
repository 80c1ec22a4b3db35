// Measures what profiles gain in training: trains with and without them in turns, on one device in one process.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "heddle/runtime/train/trainer.hpp"

namespace heddle {

/// Times per sample of the epochs of both runs, in microseconds. Value i of both comes from the same round, in which
/// the runs took one turn each. The first round is left out: the network grows in it, and caches are cold.
struct TrainingGain {
  std::vector<double> tuned, untuned;
  /// Configuration and tier of the kernel that took most samples of the last epoch.
  MappingUse tuned_mapping, untuned_mapping;
  std::string failure = {};  ///< why the training without profiles ended early, one line; empty if it did not

  enum class Verdict {
    faster,        ///< with profiles, beyond noise
    slower,        ///< likewise
    within_noise,  ///< as clearly_slower() of tuner/statistics.hpp has it, or there was no round to compare
  };
  [[nodiscard]] Verdict verdict() const;
  /// Number of rounds in which the run with profiles was the faster one.
  [[nodiscard]] std::size_t rounds_faster() const;
  /// Median time without profiles over median time with them; 1 if nothing was compared.
  [[nodiscard]] double factor() const;
};

struct ComparedTraining {
  TrainingResult result;  ///< of the run with profiles: the same, bit for bit, as if it had run alone
  TrainingGain gain;
};

/// Trains twice in turns, epoch by epoch: with `profiles` and without. The training that begins a round alternates.
/// `observer` is told of the training with profiles; if it stops, both end. If the training without
/// profiles fails, `observer` is told and the other goes on alone. Throws what the training with profiles throws.
[[nodiscard]] ComparedTraining train_by_turns(const Trainer& trainer, Device& device, const Knowledge& known,
                                              const TrainingJob& job, const TrainingObserver& observer = {});

}  // namespace heddle
