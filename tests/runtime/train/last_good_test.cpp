// Whatever the options and however large the numbers: a training is refused, or gives a model that can be read again
// and whose predictions, errors and scores are finite.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/trainer.hpp"
#include "runtime/train/synthetic.hpp"
#include "runtime/train/training_job.hpp"

namespace heddle {
namespace {

using test::cpu, test::job, test::Options;

std::string text(double value) {
  std::ostringstream stream;
  stream << value;
  return stream.str();
}

void check_finite(const std::optional<Score>& score) {
  if (!score) return;
  CHECK(std::isfinite(score->error));
  CHECK(std::isfinite(score->value));
}

void check_good(const TrainingResult& result, const Dataset& data) {
  CHECK(result.model.unready().empty());
  const Model again = decode_model(encode_model(result.model), "again");
  const auto predictor = trainer(again.kind()).predictor(cpu(), {}, again.network, {});
  const std::vector<float> outputs = predict(*predictor, again, data);
  for (const float output : outputs) CHECK(std::isfinite(output));
  if (data.task == Task::regress) {
    for (const float value : again.targets.invert(outputs)) CHECK(std::isfinite(value));
  }
  check_finite(score(again, data, outputs));
  check_finite(result.test);
  for (const EpochReport& report : result.epochs) {
    CHECK(std::isfinite(report.train_error));
    CHECK(std::isfinite(report.microseconds_per_sample));
    check_finite(report.test);
    check_finite(report.validation);
  }
}

/// Whether training was refused; if it was not, checks what came out.
bool refused(const Trainer& trainer, const TrainingJob& what) {
  try {
    check_good(trainer.train(cpu(), {}, what), *what.train);
    return false;
  } catch (const Error& error) {
    CAPTURE(error.what());
    CHECK((error.kind() == ErrorKind::usage || error.kind() == ErrorKind::input));
    return true;
  }
}

Dataset times(Dataset data, float factor) {
  for (float& value : data.inputs) value *= factor;
  return data;
}

TEST_CASE("options whose result float32 cannot hold are refused") {
  const Dataset data = test::clusters(60, 3, 2, 5);
  const Trainer& sonfin = trainer("sonfin");
  for (const auto& [name, value] : Options{
           {"initial-width", "1e30"}, {"overlap", "1e-30"}, {"minimum-width", "1e-300"}, {"minimum-width", "1e30"}}) {
    OptionValues values(sonfin.options());
    CHECK_THROWS_AS(values.set(name, value), Error);
  }
  CHECK(refused(sonfin, job(sonfin, data, {{"minimum-width", "1e-18"}})));
  for (const Trainer* each : trainers()) {
    CAPTURE(each->name());
    const Dataset huge = times(data, 1e37F);
    CHECK(refused(*each, job(*each, huge, {{"scale", "none"}})));
    CHECK_FALSE(refused(*each, job(*each, huge, {{"epochs", "2"}})));
  }
}

TEST_CASE("a test row with which float32 cannot compute is refused before the first epoch") {
  const Dataset data = test::clusters(60, 3, 2, 5);
  Dataset test = test::clusters(20, 3, 2, 6);
  test.source = "the test rows";
  test.inputs[3 * 7 + 1] = 1e37F;
  for (const Trainer* each : trainers()) {
    TrainingJob what = job(*each, data, {});
    what.test = &test;
    int epochs = 0;
    try {
      (void)each->train(cpu(), {}, what, {.epoch = [&](const EpochReport&) { ++epochs; }});
      FAIL("was not refused");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      CHECK(std::string(error.what()).starts_with("the test rows: found 1e+37 in row 8, number 2, expected"));
    }
    CHECK(epochs == 0);
  }
}

TEST_CASE("a step out of the numbers ends training with the last good system") {
  const Dataset data = test::curves(80, 2, 5);
  const Trainer& tsk = trainer("tsk");
  const TrainingResult good = tsk.train(cpu(), {}, job(tsk, data, {{"epochs", "3"}, {"sets", "3"}}));
  check_good(good, data);
  Model forged = good.model;
  std::get<TskModel>(forged.network).adaptation.step = 1e300;
  TrainingJob what = job(tsk, data, {{"epochs", "9"}});
  what.resume = &forged;
  const TrainingResult result = tsk.train(cpu(), {}, what);
  check_good(result, data);
  CHECK(result.ending == Ending::diverged);
  CHECK(!result.message.empty());
  CHECK(!std::get<TskModel>(result.model.network).last);
}

TEST_CASE("any options on any numbers") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  int trained = 0;
  for (int round = 0; round < 150; ++round) {
    const Trainer& each = *trainers()[random() % trainers().size()];
    CAPTURE(each.name());
    Dataset data = random() % 2 == 0 ? test::curves(50, 2, round) : test::clusters(50, 3, 2, round);
    if (random() % 3 == 0) data = times(std::move(data), std::ldexp(1.0F, static_cast<int>(random() % 200) - 100));
    if (random() % 4 == 0) data.inputs[random() % data.inputs.size()] = random() % 2 == 0 ? 3e38F : -1e-40F;
    if (random() % 4 == 0 && !data.targets.empty()) data.targets[random() % data.targets.size()] = 3e38F;
    Options options{{"epochs", "3"}};
    std::string told;
    for (const Option& option : each.options()) {
      if (random() % 3 != 0) continue;
      // At the ends of the range, or anywhere in between by orders of magnitude.
      const double low = std::max(option.minimum, 1e-30), high = std::max(option.maximum, 1e-30);
      const double between = low * std::pow(high / low, static_cast<double>(random() % 1000) / 999.0);
      const double least = option.exclusive_minimum ? low : option.minimum;
      const double value = random() % 4 == 0 ? least : random() % 3 == 0 ? option.maximum : between;
      switch (option.kind) {
        case Option::Kind::number:
          options.emplace_back(option.name, text(value));
          break;
        case Option::Kind::choice:
          options.emplace_back(option.name, option.choices[random() % option.choices.size()]);
          break;
        case Option::Kind::flag:
          options.emplace_back(option.name, random() % 2 == 0 ? "true" : "false");
          break;
        case Option::Kind::integer:
        case Option::Kind::integers:
          continue;  // sizes, which would only make it slow
      }
      told += " --" + options.back().first + " " + options.back().second;
    }
    CAPTURE(told);
    trained += refused(each, job(each, data, options)) ? 0 : 1;
  }
  CHECK(trained > 10);
}

}  // namespace
}  // namespace heddle
