#include "heddle/runtime/train/mlp_checkpoints.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace heddle {

namespace {

/// Copies take one part in so many of the time: a training that does not diverge has no use for them.
constexpr int kPartOfTime = 100;

}  // namespace

MlpCheckpoints::MlpCheckpoints(MlpModel::Learning start)
    : first_{.epoch = start.progress.epoch, .parameters = start.parameters},
      latest_(std::make_shared<const MlpModel::Learning>(std::move(start))),
      before_best_(latest_),
      best_epoch_(latest_->progress.epoch) {}

void MlpCheckpoints::copy(MlpLearner& learner) {
  const auto start = Clock::now();
  // The weights before an epoch are those at its beginning.
  if (start < next_copy_ || learner.progress().position > 0) return;
  if (learner.progress().epoch == latest_->progress.epoch) return;
  latest_ = std::make_shared<const MlpModel::Learning>(learner.learning());
  const auto end = Clock::now();
  next_copy_ = end + kPartOfTime * (end - start);
}

void MlpCheckpoints::saw(int epoch, double error) {
  if (error >= best_error_) return;
  best_error_ = error;
  best_epoch_ = epoch;
  before_best_ = latest_;
}

void MlpCheckpoints::find_divergence(MlpLearner& learner, const std::function<bool(MlpLearner&)>& usable) const {
  const mlp::Progress found = learner.progress();
  learner.begin(*latest_);
  const auto found_again = [&] {
    const mlp::Progress& now = learner.progress();
    return now.halted != mlp::kGoesOn || now.steps > found.steps || (now.position == 0 && !usable(learner));
  };
  do {
    (void)learner.advance(static_cast<std::int64_t>(learner.progress().epoch) + 1);
  } while (!found_again());
}

std::vector<MlpCheckpoints::Weights> MlpCheckpoints::best(MlpLearner& learner) const {
  learner.begin(*before_best_);
  std::vector<Weights> weights{first_};
  for (const int epoch : {std::max(best_epoch_ - 1, before_best_->progress.epoch), best_epoch_}) {
    while (learner.progress().epoch < epoch) (void)learner.advance(epoch);
    weights.push_back({.epoch = epoch, .parameters = learner.parameters()});
  }
  return weights;
}

}  // namespace heddle
