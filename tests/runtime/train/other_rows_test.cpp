// A model that goes on with other rows than it has learnt: what was best on those says nothing about these.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/trainer.hpp"
#include "runtime/train/perceptron_training.hpp"
#include "runtime/train/synthetic.hpp"
#include "runtime/train/training_job.hpp"

namespace heddle {
namespace {

using test::cpu, test::error_on, test::job, test::Options, test::perceptrons, test::train_mlp;

/// The same inputs with other targets.
Dataset turned(Dataset data) {
  for (std::size_t i = 0; i < data.targets.size(); i += 2) data.targets[i] = 2000.0F - data.targets[i];
  return data;
}

TEST_CASE("a model of other rows is taught these, whatever was the best on those") {
  const Dataset before = test::curves(200, 2, 5), now = turned(before);
  for (const Trainer* each : trainers()) {
    for (const char* validation : {"0", "0.2"}) {
      CAPTURE(each->name());
      CAPTURE(validation);
      const TrainingResult first = each->train(cpu(), {}, job(*each, before, {{"validation", validation}}));
      const Model saved = decode_model(encode_model(first.model), "saved");
      const std::int64_t epochs = saved.training.epochs;
      TrainingJob rest = job(*each, now, {{"epochs", std::to_string(epochs + 20)}});
      rest.resume = &saved;
      const TrainingResult second = each->train(cpu(), {}, rest);
      CHECK(error_on(second.model, now) < 0.5 * error_on(saved, now));
      if (std::string(validation) != "0") CHECK(second.model.training.best_epoch > epochs);
    }
  }
}

TEST_CASE("an epoch of other rows begins with their first one, wherever the model was stopped") {
  const Dataset before = test::curves(3000, 2, 5), now = turned(before), few = turned(test::curves(40, 2, 5));
  for (const auto& own : {std::pair("sonfin", Options{{"max-rules", "20"}}),
                          std::pair("mlp", Options{{"batch", "1"}, {"layers", "3"}})}) {
    CAPTURE(own.first);
    const Trainer& each = trainer(own.first);
    bool within = false;
    const TrainingObserver observer{
        .progress = [&](const TrainingProgress& at) { within = at.position > few.rows() && at.position < at.samples; },
        .stop = [&] { return within; }};
    const TrainingResult stopped = each.train(cpu(), {}, job(each, before, own.second), observer);
    REQUIRE(stopped.ending == Ending::stopped);
    REQUIRE(stopped.model.training.position > few.rows());
    const Model saved = decode_model(encode_model(stopped.model), "saved");
    Model at_the_start = saved;
    at_the_start.training.position = 0;
    at_the_start.training.partial_loss = 0.0;
    if (auto* perceptrons = std::get_if<MlpModel>(&at_the_start.network)) {
      perceptrons->last->progress.position = 0;
      perceptrons->last->progress.squares = 0.0;
    }
    for (const Dataset* rows : {&now, &few}) {
      CAPTURE(rows->rows());
      TrainingJob rest = job(each, *rows, {{"epochs", std::to_string(saved.training.epochs + 1)}});
      rest.resume = &saved;
      const double error = each.train(cpu(), {}, rest).model.training.history.back().train_error;
      rest.resume = &at_the_start;
      CHECK(error == each.train(cpu(), {}, rest).model.training.history.back().train_error);
    }
  }
}

TEST_CASE("robust training takes the error of its best weights on other rows, and goes back to them") {
  const Dataset before = test::curves(200, 2, 5), now = turned(before);
  const Options options{{"rule", "adaptive"}, {"hidden", "sigmoid"}, {"layers", "8"}};
  for (const char* epochs : {"100", "101", "102", "103", "104", "105"}) {
    CAPTURE(epochs);
    Options some = options;
    some.emplace_back("epochs", epochs);
    const Model saved = decode_model(encode_model(train_mlp(before, some).model), "saved");
    const TrainingResult result = train_mlp(now, {{"epochs", "400"}}, {.resume = &saved});
    CHECK(error_on(result.model, now) < 0.1 * error_on(saved, now));
  }
}

TEST_CASE("weights that robust training has just worsened do not count as the best on other rows") {
  const Dataset before = test::curves(200, 2, 5), now = turned(before);
  Model saved = train_mlp(before, {{"rule", "adaptive"}, {"hidden", "sigmoid"}, {"layers", "8"}}).model;
  const double best = error_on(saved, now);
  MlpModel::Learning& last = *std::get<MlpModel>(saved.network).last;
  std::copy(last.parameters.begin(), last.parameters.end(), last.state.end() - std::ssize(last.parameters));
  for (float& weight : last.parameters) weight *= 1000.0F;
  const TrainingResult result = train_mlp(now, {{"epochs", "102"}, {"report", "1"}}, {.resume = &saved});
  CHECK(result.epochs.front().train_error > 10.0 * best);
  CHECK(result.epochs.back().train_error < 1.01 * best);
}

}  // namespace
}  // namespace heddle
