// Small searches on the processor at hand, with the system's compiler where there is one.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "heddle/kernels/sonfin/predict.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/remeasure.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/temporary_store.hpp"

using namespace heddle;

TEST_CASE("a few evaluations on the processor give a verified profile") {
  const auto device = open_device("cpu");
  for (const KernelFamily* family : {&sonfin::train_family(), &sonfin::predict_family()}) {
    CAPTURE(family->name());
    const TemporaryStore temporary;
    DeviceEvaluator evaluator(*device, *family, 5);
    StopCondition stop({.seconds = {}, .evaluations = 6});
    const auto results = Tuner(evaluator, temporary.store, {.seed = 5})
                             .tune({sonfin::problem(12, 7, 3), sonfin::problem(5, 3, 1)}, stop);
    REQUIRE(results.size() == 2);
    for (const TuningResult& result : results) {
      REQUIRE(result.profile);
      CHECK(result.was_stored);
      CHECK(result.profile->time > 0.0);
      CHECK(result.profile->worst_error < 0.01);
      REQUIRE(result.untuned.time);
      const auto kept = temporary.store.find(result.profile->key);
      REQUIRE(kept);
      CHECK(kept->configuration == result.profile->configuration);
    }
    const auto again = remeasure(evaluator, temporary.store, *results.front().profile);
    CHECK(again.verdict.status == Status::correct);
    CHECK(again.profile);
  }
}
