// K-fold cross-validation: each part of the rows is predicted by a network that has learnt the others.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "heddle/runtime/train/metrics.hpp"
#include "heddle/runtime/train/scoring.hpp"
#include "heddle/runtime/train/trainer.hpp"

namespace heddle {

/// What came out of one fold.
struct FoldResult {
  std::int64_t fold = 0;                ///< from 1
  std::int64_t learnt = 0, tested = 0;  ///< rows
  std::int64_t epochs = 0;
  std::optional<double> train_error;  ///< of the last epoch, mean E; absent if training diverged in the first
  Score test;                         ///< of the part that was left out
  Ending ending = Ending::completed;
  double seconds = 0.0;
};

struct CrossValidation {
  std::vector<FoldResult> folds;  ///< those that were finished
  double mean = 0.0;              ///< of the folds' Score::value
  /// Standard deviation of the folds' values, of a sample (divided by one less than there are); absent for fewer than
  /// two.
  std::optional<double> spread;
  Metrics metrics;  ///< of all predictions of the folds together
  bool stopped = false;
};

/// Trains `folds` networks as `job` says, which neither has test rows nor resumes a model; the parts are deal_folds(),
/// by the option seed. `told` is called after each fold, with all that are finished. Throws what Trainer::begin()
/// and predict() throw; an Error(input) names the fold. The observer's `stop` ends it: the fold under way is then left
/// out.
[[nodiscard]] CrossValidation cross_validate(const Trainer& trainer, Device& device, const Knowledge& known,
                                             const TrainingJob& job, std::int64_t folds,
                                             const TrainingObserver& observer,
                                             const std::function<void(const CrossValidation&)>& told);

}  // namespace heddle
