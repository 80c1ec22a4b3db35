// Where the training of a multilayer perceptron that diverges goes back to.
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "heddle/runtime/model/mlp_model.hpp"
#include "heddle/runtime/train/mlp_learner.hpp"

namespace heddle {

/// Copies of what training goes on from, a few at a time. Training repeats itself bit for bit, so that the weights
/// after any epoch are found again from the copy before it; when the copies were made does not show in the results.
class MlpCheckpoints {
 public:
  /// `start`: what training begins with.
  explicit MlpCheckpoints(MlpModel::Learning start);

  /// Between two runs: makes a copy, if that keeps to its part of the time.
  void copy(MlpLearner& learner);
  /// Epoch `epoch`, which has run since the latest copy, had this error and left usable weights.
  void saw(int epoch, double error);

  /// Takes the learner, which has got into numbers that are none, back to the end of the first epoch since the latest
  /// copy that halts or leaves weights which are not `usable`. That epoch is the same however the steps were divided
  /// into runs.
  void find_divergence(MlpLearner& learner, const std::function<bool(MlpLearner&)>& usable) const;

  struct Weights {
    int epoch = 0;  ///< after which they were
    std::vector<float> parameters;
  };
  /// Those that training began with.
  [[nodiscard]] const Weights& first() const { return first_; }
  /// Among which the best are: the first, and those before and after the epoch with the smallest error, which is that
  /// of the weights between them. The learner repeats these epochs.
  [[nodiscard]] std::vector<Weights> best(MlpLearner& learner) const;

 private:
  using Clock = std::chrono::steady_clock;
  using Copy = std::shared_ptr<const MlpModel::Learning>;

  Weights first_;
  Copy latest_, before_best_;
  int best_epoch_;
  double best_error_ = std::numeric_limits<double>::infinity();
  Clock::time_point next_copy_ = Clock::now();
};

}  // namespace heddle
