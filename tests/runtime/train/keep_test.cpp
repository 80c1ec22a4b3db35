// What an observer gets to keep while training goes on: room for the model beforehand, and results that can be saved
// and gone on from as if training had been stopped there.
#include <doctest/doctest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/model/description.hpp"
#include "heddle/runtime/model/model_file.hpp"
#include "heddle/runtime/train/trainer.hpp"
#include "runtime/train/synthetic.hpp"
#include "runtime/train/training_job.hpp"

namespace heddle {
namespace {

using test::job;

TEST_CASE("the first result that is kept leads to the same model as training without a break") {
  const auto device = open_device("cpu");
  const Dataset data = test::curves(400, 3, 5);
  for (const Trainer* trainer : trainers()) {
    for (const char* const validation : {"0", "0.25"}) {
      CAPTURE(trainer->name());
      CAPTURE(validation);
      const TrainingJob what = job(*trainer, data, {{"epochs", "40"}, {"validation", validation}});
      std::vector<std::int64_t> rooms;
      std::vector<TrainingResult> kept;
      const TrainingResult whole =
          trainer->train(*device, {}, what,
                         {.room = [&](std::int64_t bytes) { rooms.push_back(bytes); },
                          .keep = [&](const TrainingResult& so_far) { kept.push_back(so_far); }});
      REQUIRE(rooms.size() == 1);
      CHECK(static_cast<std::int64_t>(encode_model(whole.model).size()) <= rooms.front());
      REQUIRE(!kept.empty());
      CHECK(kept.front().ending == Ending::stopped);
      CHECK(!kept.front().message.empty());
      const Model saved = decode_model(encode_model(kept.front().model), "kept");
      CHECK(saved.training.epochs < 40);
      TrainingJob rest = what;
      rest.resume = &saved;
      const TrainingResult result = trainer->train(*device, {}, rest);
      CHECK(result.model.training.epochs == 40);
      CHECK(heddle::document(result.model) == heddle::document(whole.model));
      CHECK(result.model.training.history.back().train_error == whole.model.training.history.back().train_error);
    }
  }
}

TEST_CASE("no room ends training before it begins") {
  const auto device = open_device("cpu");
  const Dataset data = test::curves(100, 2, 5);
  for (const Trainer* trainer : trainers()) {
    int epochs = 0;
    TrainingObserver observer{.epoch = [&](const EpochReport&) { ++epochs; }};
    observer.room = [](std::int64_t) { throw Error(ErrorKind::input, "no room"); };
    CHECK_THROWS_AS((void)trainer->train(*device, {}, job(*trainer, data, {}), observer), Error);
    CHECK(epochs == 0);
  }
}

TEST_CASE("classes that no model can keep apart are refused before training") {
  const auto device = open_device("cpu");
  Dataset data = test::clusters(40, 3, 2, 1);
  data.classes = {"a", "a"};
  for (const Trainer* trainer : trainers()) {
    CAPTURE(trainer->name());
    bool room = false;
    CHECK_THROWS_WITH_AS(
        (void)trainer->train(*device, {}, job(*trainer, data, {}), {.room = [&](std::int64_t) { room = true; }}),
        "clusters: found the class 'a' twice, expected each class once", Error);
    CHECK_FALSE(room);
  }
}

}  // namespace
}  // namespace heddle
