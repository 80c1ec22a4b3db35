// A compiler that never ends: a search waits for its untuned default, but not for ever.
#include <doctest/doctest.h>

#include <vector>

#include "fake_evaluator.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/temporary_store.hpp"

using namespace heddle;

TEST_CASE("a compiler that hangs is given up soon after the budget, whatever it compiles") {
  for (const bool on_processor : {false, true}) {
    CAPTURE(on_processor);
    const TemporaryStore temporary;
    const fake::Family family;
    fake::FakeEvaluator evaluator(family);
    evaluator.on_processor = on_processor;
    evaluator.compiler_hangs = true;
    std::vector<Problem> problems;
    for (const std::int64_t size : {8, 64, 512}) problems.push_back(fake::problem(size));
    StopCondition stop({.seconds = 5.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
    const auto results = Tuner(evaluator, temporary.store, {}).tune(problems, stop);
    CHECK(evaluator.now < 25.0);
    REQUIRE(!results.empty());
    for (const TuningResult& result : results) {
      CHECK(!result.profile);
      CHECK(!result.interrupted);
      CHECK(!result.out_of_time);
      CHECK(result.compiler_out_of_time == 20.0);
    }
    // It is no configuration's failure: only one that the size forbids is known to be bad.
    for (const Measurement& each : temporary.store.measurements()) CHECK(each.status == Status::constraint);
  }
}

TEST_CASE("a long budget leaves the compiler more time, for one problem and for several side by side") {
  for (const std::size_t count : {1U, 3U}) {
    CAPTURE(count);
    const TemporaryStore temporary;
    const fake::Family family;
    fake::FakeEvaluator evaluator(family);
    evaluator.compiler_hangs = true;
    std::vector<Problem> problems{fake::problem(64), fake::problem(8), fake::problem(512)};
    problems.resize(count);
    StopCondition stop({.seconds = 1000.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
    const auto results = Tuner(evaluator, temporary.store, {}).tune(problems, stop);
    REQUIRE(results.size() == count);
    for (const TuningResult& result : results) CHECK(result.compiler_out_of_time == doctest::Approx(250.0));
    CHECK(evaluator.now < 260.0);
  }
}

TEST_CASE("finalists that only an earlier process has compiled are not waited for for ever either") {
  const TemporaryStore temporary;
  const fake::Family family;
  const Budget budget{.seconds = 5.0, .evaluations = {}};
  bool asked = false;
  {
    fake::FakeEvaluator evaluator(family);
    evaluator.run_seconds = 0.01;
    // Stopped by the user as soon as the screening is over: the finals are left.
    StopCondition stop(
        budget, [&] { return asked; }, [&] { return evaluator.now; });
    TunerCallbacks callbacks;
    callbacks.progress = [&](const TuningProgress& progress) { asked = asked || progress.stage == Stage::finals; };
    evaluator.waits = [&] {
      if (asked) throw Interrupted();
    };
    const auto results = Tuner(evaluator, temporary.store, {}, callbacks).tune({fake::problem(64)}, stop);
    CHECK(asked);
    for (const TuningResult& result : results) CHECK(!result.profile);
  }
  fake::FakeEvaluator evaluator(family);
  evaluator.run_seconds = 0.01;
  evaluator.compiler_hangs = true;
  StopCondition stop(budget, {}, [&] { return evaluator.now; });
  const auto results = Tuner(evaluator, temporary.store, {}).tune({fake::problem(64)}, stop);
  REQUIRE(results.size() == 1);
  CHECK(!results.front().profile);
  CHECK(results.front().compiler_out_of_time == 20.0);
  CHECK(evaluator.now < 30.0);
}
