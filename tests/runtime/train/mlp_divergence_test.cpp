// A perceptron's training that diverges keeps the best weights that there were, whenever it is looked at.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/cross_validation.hpp"
#include "heddle/runtime/train/mlp_options.hpp"
#include "heddle/runtime/train/mlp_weights.hpp"
#include "heddle/runtime/train/trainer.hpp"
#include "heddle/runtime/train/training_data.hpp"
#include "runtime/train/perceptron_training.hpp"
#include "runtime/train/synthetic.hpp"
#include "runtime/train/training_job.hpp"

namespace heddle {
namespace {

using test::cpu, test::error_on, test::job, test::mlp_of, test::Options, test::perceptrons, test::train_mlp;

Options with(Options options, const Options& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

/// Learns for some epochs, then leaves the valley that is too narrow for its steps.
const Options kLater{{"hidden", "linear"}, {"output", "linear"},        {"rule", "plain"},
                     {"layers", "8"},      {"initial-weights", "0.01"}, {"rate", "1.9"}};
/// Leaves all numbers within few epochs.
const Options kAtOnce{{"output", "linear"}, {"rule", "plain"}, {"layers", "8"}, {"rate", "1e5"}};

Dataset later_data() { return test::clusters(150, 4, 3, 3, 0.3); }

TEST_CASE("the best weights of a perceptron that diverges are kept, however often it reports") {
  const Dataset data = later_data();
  const Options options = with(kLater, {{"epochs", "400"}});
  const TrainingResult each = train_mlp(data, with(options, {{"report", "1"}}));
  REQUIRE(each.ending == Ending::diverged);
  // With all rows at once the error of an epoch is that of the weights before it.
  const std::vector<EpochRecord>& history = each.model.training.history;
  const auto best = std::ranges::min_element(history, {}, &EpochRecord::train_error);
  REQUIRE(best->epoch > 2);
  REQUIRE(best->epoch < each.model.training.epochs);
  const std::string epoch = std::to_string(best->epoch - 1);
  const TrainingResult until_best = train_mlp(data, with(kLater, {{"epochs", epoch}}));
  REQUIRE(until_best.ending == Ending::completed);
  CHECK(mlp_of(each.model).parameters == mlp_of(until_best.model).parameters);
  // The epoch of the first numbers that are none, or whose weights are too large for the next.
  const std::int64_t last = each.model.training.epochs;
  CHECK((each.message.starts_with(fmt::format("training diverged in epoch {}:", last)) ||
         each.message.starts_with(fmt::format("training diverged in epoch {}:", last + 1))));
  CHECK(each.message.find("after epoch " + epoch) != std::string::npos);
  CHECK(each.message.find("--rate") != std::string::npos);
  for (const char* report : {"0", "3", "7", "400"}) {
    CAPTURE(report);
    const TrainingResult result = train_mlp(data, with(options, {{"report", report}}));
    CHECK(result.ending == Ending::diverged);
    CHECK(result.message == each.message);
    CHECK(result.model.training.epochs == each.model.training.epochs);
    CHECK(mlp_of(result.model).parameters == mlp_of(each.model).parameters);
    CHECK_FALSE(mlp_of(result.model).last.has_value());
    CHECK_NOTHROW((void)decode_model(encode_model(result.model), "kept"));
  }
}

TEST_CASE("mini-batches and single rows that diverge leave weights no worse than the first, the same ones always") {
  const Dataset data = later_data();
  for (const Options& steps : {Options{{"batch", "16"}, {"rate", "1.2"}}, Options{{"batch", "1"}, {"rate", "0.3"}}}) {
    CAPTURE(steps[0].second);
    const Options options = with(kLater, with(steps, {{"epochs", "2000"}}));
    const TrainingResult each = train_mlp(data, with(options, {{"report", "1"}}));
    const TrainingResult seldom = train_mlp(data, options);
    CHECK(each.ending == Ending::diverged);
    CHECK(seldom.ending == Ending::diverged);
    CHECK(seldom.message == each.message);
    CHECK(mlp_of(seldom.model).parameters == mlp_of(each.model).parameters);
    OptionValues values = job(perceptrons(), data, options).options;
    resolve_mlp_options(values, values, Task::classify);
    Model first = each.model;
    auto& network = std::get<MlpModel>(first.network);
    network.parameters = first_weights(values, network.layers);
    CHECK(error_on(each.model, data) <= error_on(first, data));
  }
}

TEST_CASE("a perceptron that diverges at once keeps the weights that it began with") {
  const Dataset data = later_data();
  const Options options = with(kAtOnce, {{"epochs", "1000"}});
  const TrainingResult drawn = train_mlp(data, options);
  CHECK(drawn.ending == Ending::diverged);
  CHECK(drawn.epochs.empty());
  OptionValues values = job(perceptrons(), data, options).options;
  resolve_mlp_options(values, values, Task::classify);
  const MlpModel& network = mlp_of(drawn.model);
  CHECK(network.parameters == first_weights(values, network.layers));
  CHECK(drawn.message.find("before the first epoch") != std::string::npos);

  const TrainingResult good =
      train_mlp(data, {{"output", "linear"}, {"layers", "8"}, {"epochs", "20"}, {"rate", "0.01"}});
  const TrainingJob::Weights weights{.text = weights_text(mlp_of(good.model)), .source = "text"};
  const TrainingResult given = train_mlp(data, options, {.weights = &weights});
  CHECK(given.ending == Ending::diverged);
  CHECK(mlp_of(given.model).parameters == mlp_of(good.model).parameters);
}

TEST_CASE("a session that diverges keeps the weights of the session before, which go on with a smaller rate") {
  const Dataset data = later_data();
  const Options adam{{"output", "linear"}, {"layers", "8"}, {"epochs", "20"}, {"rate", "0.01"}};
  const TrainingResult good = train_mlp(data, adam);
  const TrainingResult bad = train_mlp(data, {{"epochs", "40"}, {"rate", "1e6"}}, {.resume = &good.model});
  CHECK(bad.ending == Ending::diverged);
  CHECK(mlp_of(bad.model).parameters == mlp_of(good.model).parameters);
  CHECK(bad.message.find("after epoch 20") != std::string::npos);
  const Model kept = decode_model(encode_model(bad.model), "kept");
  const TrainingResult again = train_mlp(data, {{"epochs", "80"}, {"rate", "0.001"}}, {.resume = &kept});
  CHECK(again.ending == Ending::completed);
  CHECK(error_on(again.model, data) < error_on(good.model, data));
}

TEST_CASE("where rows are kept back, the best weights are those with the smallest error on them") {
  const Dataset data = later_data();
  const Options options =
      with(kLater, {{"epochs", "400"}, {"validation", "0.3"}, {"patience", "400"}, {"report", "1"}});
  const TrainingResult result = train_mlp(data, options);
  REQUIRE(result.ending == Ending::diverged);
  double least = 1e300;
  std::int64_t epoch = 0;
  for (const EpochRecord& record : result.model.training.history) {
    if (!record.validation_error || *record.validation_error >= least) continue;
    least = *record.validation_error;
    epoch = record.epoch;
  }
  const DataParts parts = part_data(data, 0.3, 1);
  CHECK(error_on(result.model, parts.validation) <= least);
  CHECK(result.model.training.best_epoch == epoch);
  CHECK(result.model.training.best_error == least);
  // Looks that came too late to see anything good.
  Options seldom = with(options, {{"report", "400"}});
  const TrainingResult unseen = train_mlp(data, seldom);
  CHECK(unseen.ending == Ending::diverged);
  CHECK(error_on(unseen.model, parts.validation) < 1.0);
}

TEST_CASE("rows that are scored, not learnt, change nothing about a training that diverges") {
  const Dataset data = later_data(), test = test::clusters(60, 4, 3, 4, 0.3);
  for (const char* rate : {"1e4", "1e5", "1e6"}) {
    for (const char* output : {"softmax", "linear"}) {
      CAPTURE(rate);
      CAPTURE(output);
      const Options options{{"rule", "plain"}, {"rate", rate}, {"output", output}};
      const TrainingResult alone = train_mlp(data, with(options, {{"report", "1"}}));
      REQUIRE(alone.ending == Ending::diverged);
      const TrainingResult tested = train_mlp(data, with(options, {{"report", "1"}}), {.test = &test});
      CHECK(tested.ending == Ending::diverged);
      CHECK(tested.message == alone.message);
      CHECK(mlp_of(tested.model).parameters == mlp_of(alone.model).parameters);
      const TrainingResult validated = train_mlp(data, with(options, {{"validation", "0.2"}}), {.test = &test});
      CHECK(validated.ending == Ending::diverged);
      CHECK(validated.message.starts_with("training diverged in epoch"));
      REQUIRE(validated.test.has_value());
      CHECK(std::isfinite(validated.test->error));
      CHECK_NOTHROW((void)decode_model(encode_model(validated.model), "kept"));
      CHECK(error_on(validated.model, data) < 10.0);
      std::int64_t told = 0;
      const TrainingJob folds = job(perceptrons(), data, with(options, {{"validation", "0.2"}}));
      CHECK(cross_validate(perceptrons(), cpu(), {}, folds, 5, {}, [&](const CrossValidation&) {
              ++told;
            }).folds.size() == 5);
      CHECK(told == 5);
    }
  }
}

TEST_CASE("robust training goes back from weights that float32 cannot use, even where it stops with them") {
  const Dataset data = test::clusters(150, 4, 3, 3, 0.3);
  const Options options{{"rule", "adaptive"},      {"layers", "8,8,8,8,8,8,8,8"}, {"hidden", "linear"},
                        {"first-step", "1000000"}, {"largest-step", "1e6"},       {"epochs", "12"}};
  const TrainingResult seldom = train_mlp(data, options);
  CHECK(seldom.ending == Ending::completed);
  const TrainingResult each = train_mlp(data, with(options, {{"report", "1"}}));
  CHECK(each.ending == Ending::completed);
  CHECK(each.message == seldom.message);
  CHECK(mlp_of(each.model).parameters == mlp_of(seldom.model).parameters);
  for (int epochs = 1; epochs < 6; ++epochs) {
    CAPTURE(epochs);
    Options some = options;
    some.back().second = std::to_string(epochs);
    const TrainingResult stopped = train_mlp(data, some);
    CHECK(stopped.ending == Ending::completed);
    const Model kept = decode_model(encode_model(stopped.model), "kept");
    CHECK(std::isfinite(error_on(kept, data)));
    CHECK(train_mlp(data, {{"epochs", "12"}}, {.resume = &kept}).ending == Ending::completed);
  }
}

TEST_CASE("a model whose moments are infinite has its weights, and goes on from them as at a start") {
  const Dataset data = test::curves(60, 2, 5);
  std::string text;
  for (int neuron = 0; neuron < 3; ++neuron) text += "1e9 1e9 1e9\n";
  for (int neuron = 0; neuron < 2; ++neuron) text += "1e9 1e9 1e9 1e9\n";
  const TrainingJob::Weights weights{.text = text, .source = "w"};
  const TrainingResult result = train_mlp(data, {{"layers", "3"}, {"epochs", "2"}}, {.weights = &weights});
  CHECK(result.ending == Ending::completed);
  CHECK_FALSE(mlp_of(result.model).last.has_value());
  const Model kept = decode_model(encode_model(result.model), "kept");
  CHECK(train_mlp(data, {{"epochs", "3"}}, {.resume = &kept}).model.training.epochs == 3);

  // Stopped within an epoch whose errors are large, and which takes several runs.
  int asked = 0;
  const Dataset more = test::curves(3000, 2, 5);
  TrainingJob what = job(perceptrons(), more, {{"layers", "3"}, {"batch", "1"}, {"rule", "plain"}, {"rate", "1e-30"}});
  what.weights = &weights;
  const TrainingResult stopped = perceptrons().train(cpu(), {}, what, {.stop = [&] { return ++asked > 1; }});
  CHECK(stopped.ending == Ending::stopped);
  CHECK(stopped.model.training.position > 0);
  CHECK_NOTHROW((void)decode_model(encode_model(stopped.model), "stopped"));
}

TEST_CASE("errors that rise far are divergence, too, before they become infinite") {
  const Dataset data = test::clusters(150, 4, 3, 3, 0.3);
  for (const Options& options :
       {with(kAtOnce, {{"rate", "1e3"}, {"epochs", "2"}}), Options{{"output", "linear"}, {"rate", "1e3"}},
        Options{{"output", "linear"}, {"rate", "1e3"}, {"validation", "0.2"}}}) {
    const TrainingResult result = train_mlp(data, options);
    CAPTURE(result.message);
    CHECK(result.ending == Ending::diverged);
    CHECK(result.message.find("rose from") != std::string::npos);
    CHECK(result.model.training.history.back().train_error > 100.0);
    CHECK(error_on(result.model, data) < 10.0);
    CHECK_FALSE(mlp_of(result.model).last.has_value());
  }
}

TEST_CASE("a resumed training whose errors rise for a while ends as one that was not stopped") {
  Dataset data = test::curves(400, 2, 3);
  data.targets_per_row = 1;
  data.targets.clear();
  for (std::size_t i = 0; i < data.inputs.size(); i += 2) {
    for (std::size_t j : {i, i + 1}) data.inputs[j] = 0.25F * data.inputs[j] + 0.5F;
    data.targets.push_back(1.0F + data.inputs[i] * data.inputs[i + 1]);
  }
  data.input_ranges = {{0.0F, 1.0F}, {0.0F, 1.0F}};
  data.target_ranges = {{1.0F, 2.0F}};
  for (const std::string seed : {"1", "2", "3", "4"}) {
    const Options options{{"rule", "rprop"}, {"layers", "64"}, {"seed", seed}};
    const TrainingResult at_once = train_mlp(data, with(options, {{"epochs", "8"}}));
    for (const std::string stopped : {"2", "3", "4", "5", "6"}) {
      CAPTURE(seed);
      CAPTURE(stopped);
      const TrainingResult before = train_mlp(data, with(options, {{"epochs", stopped}}));
      if (before.ending == Ending::diverged) continue;  // there and then the errors had risen
      const TrainingResult resumed = train_mlp(data, with(options, {{"epochs", "8"}}), {.resume = &before.model});
      CAPTURE(resumed.message);
      CHECK(resumed.ending == at_once.ending);
      CHECK(mlp_of(resumed.model).parameters == mlp_of(at_once.model).parameters);
    }
  }
}

TEST_CASE("an error that is larger than it was is no divergence, if it is not far above that of the mean") {
  const Dataset data = test::clusters(150, 4, 3, 3);
  const TrainingResult good = train_mlp(data, {{"layers", "16"}, {"epochs", "300"}, {"rate", "0.01"}});
  const double before = good.model.training.history.back().train_error;
  // One large step away from weights that fit well.
  const TrainingResult worse =
      train_mlp(data, {{"epochs", "301"}, {"rate", "0.3"}, {"batch", "30"}}, {.resume = &good.model});
  REQUIRE(worse.model.training.history.back().train_error > 3.0 * before);
  CHECK(worse.ending == Ending::completed);
  CHECK(mlp_of(worse.model).last.has_value());
}

TEST_CASE("folds that diverge in their first epoch have results, but no train error, and do not end the others") {
  const Dataset data = test::clusters(90, 4, 3, 3);
  std::int64_t told = 0;
  const Options options = with(kAtOnce, {{"rate", "1e6"}, {"batch", "1"}});
  const CrossValidation all = cross_validate(perceptrons(), cpu(), {}, job(perceptrons(), data, options), 3, {},
                                             [&](const CrossValidation&) { ++told; });
  CHECK(told == 3);
  REQUIRE(all.folds.size() == 3);
  for (const FoldResult& fold : all.folds) {
    CHECK(fold.ending == Ending::diverged);
    CHECK(fold.epochs == 0);
    CHECK_FALSE(fold.train_error.has_value());
    CHECK(std::isfinite(fold.test.error));
  }
}

}  // namespace
}  // namespace heddle
