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
#include "own_kernel.hpp"
#include "temporary_folder.hpp"
#include "tuner/temporary_store.hpp"

using namespace heddle;

TEST_CASE("kernels are timed with a cold cache, and those measurements are kept apart") {
  const auto device = open_device("cpu");
  FamilyRegistry families = builtin_families();
  const KernelFamily& family = families.add(describe(test::add_kernel()));
  const TemporaryFolder folder;
  ProfileStore store(folder.path() / "p", ProfileStore::Access::read_write, families);
  const Problem problem = Problem::from(family.axes(), {100000});
  const auto tune = [&](bool cold) {
    DeviceEvaluator evaluator(*device, family, 5, cold);
    StopCondition stop({.seconds = {}, .evaluations = 3});
    return Tuner(evaluator, store, {.seed = 5, .cold_cache = cold}).tune({problem}, stop).front();
  };
  const TuningResult warm = tune(false), cold = tune(true);
  REQUIRE(warm.profile);
  REQUIRE(cold.profile);
  CHECK(cold.recalled == 0);  // what was measured with a warm cache says nothing
  CHECK(cold.was_stored);
  CHECK(store.find(cold.profile->key)->time == cold.profile->time);
  std::size_t measured = 0;
  for (const Measurement& each : store.measurements(cold.profile->key)) measured += each.cold_cache ? 1 : 0;
  CHECK(measured >= 3);
  CHECK(measured < store.measurements(cold.profile->key).size());
}

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
