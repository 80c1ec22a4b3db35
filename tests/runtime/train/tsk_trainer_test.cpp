#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/trainer.hpp"
#include "heddle/runtime/train/tsk_start.hpp"
#include "runtime/device/many_cores.hpp"

namespace heddle {
namespace {

/// sin(pi x) (1 - y) on a grid.
Dataset surface(int points) {
  Dataset data{.source = "surface",
               .task = Task::regress,
               .dim = 2,
               .inputs = {},
               .labels = {},
               .classes = {},
               .targets = {},
               .targets_per_row = 1,
               .input_names = {"x", "y"},
               .target_names = {"z"},
               .coding = {},
               .input_ranges = {},
               .target_ranges = {},
               .remarks = {}};
  for (int i = 0; i < points; ++i) {
    for (int j = 0; j < points; ++j) {
      const float x = 4.0F * static_cast<float>(i) / static_cast<float>(points - 1) - 2.0F;
      const float y = static_cast<float>(j) / static_cast<float>(points - 1);
      data.inputs.insert(data.inputs.end(), {x, y});
      data.targets.push_back(10.0F * std::sin(1.5F * x) * (1.0F - y));
    }
  }
  return data;
}

TrainingResult train(const Dataset& data, const std::vector<std::pair<std::string, std::string>>& options,
                     const Model* resume = nullptr, const Dataset* test = nullptr,
                     const TrainingObserver& observer = {}) {
  const Trainer& tsk = trainer("tsk");
  TrainingJob job{.train = &data, .test = test, .resume = resume, .options = OptionValues(tsk.options())};
  for (const auto& [name, value] : options) job.options.set(name, value);
  const auto device = open_device("cpu");
  return tsk.train(*device, {}, job, observer);
}

const TskModel& tsk_of(const Model& model) { return std::get<TskModel>(model.network); }

void check_same_system(const tsk::System& a, const tsk::System& b) {
  CHECK(a.centres == b.centres);
  CHECK(a.widths == b.widths);
  CHECK(a.consequents == b.consequents);
}

std::string refusal(const Dataset& data, const std::vector<std::pair<std::string, std::string>>& options,
                    const Model* resume = nullptr) {
  try {
    static_cast<void>(train(data, options, resume));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.what();
  }
  FAIL("was not refused");
  return {};
}

TEST_CASE("tsk: the error falls, and the model on disk says what training measured") {
  const Dataset data = surface(21);
  for (const char* consequents : {"constant", "linear"}) {
    const TrainingResult result =
        train(data, {{"sets", "4,3"}, {"consequents", consequents}, {"epochs", "60"}}, nullptr, &data);
    const auto& history = result.model.training.history;
    REQUIRE(history.size() == 60);
    CHECK(result.ending == Ending::completed);
    CHECK(history.back().train_error < 0.7 * history.front().train_error);
    CHECK(tsk_of(result.model).system.rules() == 12);
    REQUIRE(result.test.has_value());
    double least = history.front().train_error;
    for (const EpochRecord& record : history) least = std::min(least, record.train_error);
    CHECK(result.test->error == doctest::Approx(least).epsilon(0.01));
    const Model again = decode_model(encode_model(result.model), "bytes");
    check_same_system(tsk_of(again).system, tsk_of(result.model).system);
    CHECK(tsk_of(again).system.order == (std::string(consequents) == "linear" ? 1 : 0));
    CHECK(tsk_of(again).adaptation == tsk_of(result.model).adaptation);
  }
}

TEST_CASE("tsk: a team that becomes smaller and larger between reports changes no bit") {
  const Trainer& tsk = trainer("tsk");
  for (const char* consequents : {"constant", "linear"}) {
    for (const int points : {19, 97}) {  // few rows in float64, many in float32
      const Dataset data = surface(points);
      TrainingJob job{.train = &data, .options = OptionValues(tsk.options())};
      for (const auto& [name, value] : std::vector<std::pair<const char*, const char*>>{
               {"sets", "4,3"}, {"consequents", consequents}, {"epochs", "24"}, {"report", "2"}}) {
        job.options.set(name, value);
      }
      test::ManyCores quiet(5);
      const TrainingResult expected =
          tsk.train(quiet, {}, job, {.epoch = [&](const EpochReport&) { quiet.regain_cores(); }});
      CHECK(expected.epochs.back().mappings.back().configuration.find("threads=5") != std::string::npos);
      std::mt19937 random(2);
      std::set<int> sizes;
      test::ManyCores busy(5);
      const TrainingResult result = tsk.train(busy, {}, job, {.epoch = [&](const EpochReport&) {
                                                const bool smaller = random() % 3 == 0;
                                                if (smaller) busy.lose_cores();
                                                // The machine of the test may be busy by itself.
                                                if (!smaller) busy.regain_cores();
                                                sizes.insert(busy.threads(5));
                                              }});
      CHECK(sizes.size() > 1);
      check_same_system(tsk_of(result.model).system, tsk_of(expected.model).system);
      CHECK(tsk_of(result.model).adaptation == tsk_of(expected.model).adaptation);
      CHECK(result.model.training.history.back().train_error == expected.model.training.history.back().train_error);
    }
  }
}

TEST_CASE("tsk: interrupted and resumed is the same as at once") {
  const Dataset data = surface(15);
  const auto epochs = [&](const char* count) {
    return train(data, {{"sets", "3"}, {"epochs", count}, {"validation", "0.2"}, {"patience", "30"}});
  };
  const TrainingResult whole = epochs("30");
  for (const char* cut : {"1", "12", "29"}) {
    CAPTURE(cut);
    const Model read = decode_model(encode_model(epochs(cut).model), "bytes");
    const TrainingResult rest = train(data, {{"epochs", "30"}}, &read);
    REQUIRE(rest.model.training.history.size() == 30);
    CHECK(rest.model.training.best_epoch == whole.model.training.best_epoch);
    for (std::size_t i = 0; i < 30; ++i) {
      CHECK(rest.model.training.history[i].train_error == whole.model.training.history[i].train_error);
      CHECK(rest.model.training.history[i].validation_error == whole.model.training.history[i].validation_error);
    }
    CHECK(tsk_of(rest.model).antecedents == tsk_of(whole.model).antecedents);
    check_same_system(tsk_of(rest.model).system, tsk_of(whole.model).system);
  }
}

TEST_CASE("tsk: a model without antecedents in full goes on from its last network") {
  const Dataset data = surface(15);
  TrainingResult old = train(data, {{"sets", "3"}, {"epochs", "4"}});
  auto& taught = std::get<TskModel>(old.model.network);
  REQUIRE(taught.antecedents.size() == 2 * taught.system.centres.size());
  taught.antecedents.clear();
  const Model read = decode_model(encode_model(old.model), "bytes");
  CHECK(tsk_of(read).antecedents.empty());
  const TrainingResult whole = train(data, {{"sets", "3"}, {"epochs", "8"}});
  const TrainingResult rest = train(data, {{"epochs", "8"}}, &read);
  CHECK(rest.model.training.history.back().train_error ==
        doctest::Approx(whole.model.training.history.back().train_error).epsilon(1e-3));

  Model broken = whole.model;
  auto& antecedents = std::get<TskModel>(broken.network).antecedents;
  antecedents.back() = -1.0;
  CHECK_THROWS_AS(check(broken, "model"), Error);
  antecedents.pop_back();
  CHECK_THROWS_AS(check(broken, "model"), Error);
}

TEST_CASE("tsk: rows that determine too little still give a sound model, and are told of") {
  Dataset data = surface(3);
  std::vector<std::string> notices;  // without those of a busy machine
  TrainingObserver observer;
  observer.notice = [&](const std::string& line) {
    if (line.find("ridge") != std::string::npos) notices.push_back(line);
  };
  const auto sound = [&](const TrainingResult& result) {
    for (const float value : tsk_of(result.model).system.consequents) CHECK(std::isfinite(value));
    CHECK(std::isfinite(result.model.training.history.back().train_error));
  };
  sound(train(data, {{"sets", "6"}, {"epochs", "3"}}, nullptr, nullptr, observer));  // 36 unknowns, 9 rows
  REQUIRE(notices.size() == 2);
  CHECK(notices.front().find("36 unknowns, more than the 9 rows") != std::string::npos);
  CHECK(notices.back().find("ridge was added") != std::string::npos);

  for (std::size_t i = 0; i < data.inputs.size(); i += 2) data.inputs[i] = 7.0F;  // a constant column
  const TrainingResult constant = train(data, {{"sets", "3"}, {"epochs", "3"}});
  sound(constant);
  CHECK(tsk_of(constant.model).system.rules() == 3);

  for (float& value : data.inputs) value = 1.0F;  // one row, again and again
  sound(train(data, {{"rules", "4"}, {"epochs", "3"}}));
}

TEST_CASE("tsk: more inputs or outputs than there may be are refused") {
  Dataset data = surface(2);
  const std::int64_t rows = data.rows();
  data.dim = 65537;
  data.inputs.assign(static_cast<std::size_t>(rows * data.dim), 1.0F);
  data.input_names.clear();
  CHECK_THROWS_WITH_AS(train(data, {}), doctest::Contains("65537 inputs, expected at most 65536"), Error);
}

TEST_CASE("tsk: options that make no sense are refused in one line") {
  Dataset wide = surface(5);
  wide.dim = 10;
  wide.inputs.resize(250);
  wide.targets.resize(25);
  wide.input_names.clear();
  for (std::size_t i = 0; i < wide.inputs.size(); ++i) wide.inputs[i] = static_cast<float>(i % 7 * i % 11);
  CHECK(refusal(wide, {{"sets", "4"}}).find("10 inputs with 4 sets each are 1048576 rules") != std::string::npos);
  CHECK(refusal(wide, {{"sets", "4,5"}}).find("2 numbers") != std::string::npos);
  CHECK(refusal(wide, {{"sets", "4"}, {"rules", "3"}}).find("--rules") != std::string::npos);
  CHECK(refusal(wide, {{"rules", "8000"}, {"consequents", "linear"}}).find("88000 unknowns") != std::string::npos);
  CHECK(refusal(wide, {{"sets", "4,x"}}).find("sets") != std::string::npos);

  const Dataset data = surface(5);
  const TrainingResult result = train(data, {{"sets", "2"}, {"epochs", "2"}});
  CHECK(refusal(data, {{"epochs", "4"}, {"sets", "3"}}, &result.model).find("as in the model") != std::string::npos);
  CHECK(refusal(data, {{"epochs", "2"}}, &result.model).find("more than the 2 done already") != std::string::npos);
}

TEST_CASE("tsk: sets are spread evenly, neighbours cross at half their height") {
  const std::vector<float> rows{0.0F, -1.0F, 1.0F, 3.0F};
  const tsk::System grid = grid_of_sets(rows, {3, 2}, 100);
  REQUIRE(grid.rules() == 6);
  CHECK(grid.centres == std::vector<float>{0.0F, -1.0F, 0.0F, 3.0F, 0.5F, -1.0F, 0.5F, 3.0F, 1.0F, -1.0F, 1.0F, 3.0F});
  const double half = std::exp(-0.5 * std::pow(0.25 / static_cast<double>(grid.widths[0]), 2));
  CHECK(half == doctest::Approx(0.5).epsilon(1e-5));
}

}  // namespace
}  // namespace heddle
