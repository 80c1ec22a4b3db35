#include "heddle/runtime/train/cross_validation.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <span>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/runtime/train/subset.hpp"

namespace heddle {

namespace {

/// All parts but one, in the data's order.
std::vector<std::int32_t> rows_outside(const std::vector<std::vector<std::int32_t>>& parts, std::size_t left_out,
                                       std::int64_t rows) {
  std::vector<bool> outside(at(rows), true);
  for (const std::int32_t row : parts[left_out]) outside[at(row)] = false;
  std::vector<std::int32_t> chosen;
  for (std::int32_t row = 0; row < rows; ++row) {
    if (outside[at(row)]) chosen.push_back(row);
  }
  return chosen;
}

std::optional<double> last_train_error(const TrainingState& state) {
  if (state.history.empty()) return std::nullopt;
  return state.history.back().train_error;
}

void summarize(CrossValidation& all) {
  const auto count = static_cast<double>(all.folds.size());
  all.mean = 0.0;
  for (const FoldResult& fold : all.folds) all.mean += fold.test.value / count;
  if (all.folds.size() < 2) return;
  double squares = 0.0;
  for (const FoldResult& fold : all.folds) squares += square(fold.test.value - all.mean);
  all.spread = std::sqrt(squares / (count - 1));
}

}  // namespace

CrossValidation cross_validate(const Trainer& trainer, Device& device, const Knowledge& known, const TrainingJob& job,
                               std::int64_t folds, const TrainingObserver& observer,
                               const std::function<void(const CrossValidation&)>& told) {
  const Dataset& data = *job.train;
  const auto parts = deal_folds(data, folds, static_cast<std::uint64_t>(job.options.integer("seed")));
  CrossValidation all;
  RunningMetrics measured;
  const auto finish = [&](std::size_t i) {
    const auto start = std::chrono::steady_clock::now();
    const Dataset learnt = select(data, rows_outside(parts, i, data.rows()));
    const Dataset test = select(data, parts[i]);
    TrainingJob own = job;
    own.train = &learnt;
    const TrainingResult result = trainer.train(device, known, own, observer);
    if (result.ending == Ending::stopped) return false;
    if (const std::string why = result.model.unready(); !why.empty()) throw Error(ErrorKind::input, "found " + why);
    const auto predictor = trainer.predictor(device, known, result.model.network, observer.notice);
    const std::vector<float> outputs = predict(*predictor, result.model, test);
    const TrainingState& state = result.model.training;
    all.folds.push_back({.fold = static_cast<std::int64_t>(i) + 1,
                         .learnt = learnt.rows(),
                         .tested = test.rows(),
                         .epochs = state.epochs,
                         .train_error = last_train_error(state),
                         .test = score(result.model, test, outputs),
                         .ending = result.ending,
                         .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()});
    measured.add(result.model, test, outputs);
    all.metrics = measured.metrics();
    summarize(all);
    return true;
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    try {
      all.stopped = !finish(i);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      // A row may fit the scales of the folds that learn it, and not those of the fold that is tested with it.
      throw Error(error.kind(), fmt::format("fold {} of {}: {}", i + 1, folds, error.what()));
    }
    if (all.stopped) break;
    if (told) told(all);
  }
  return all;
}

}  // namespace heddle
