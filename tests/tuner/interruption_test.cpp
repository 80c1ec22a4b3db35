// Runs that end early: what was measured is kept.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fake_evaluator.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/one_search.hpp"

using namespace heddle;

namespace {

using fake::Family;
using fake::key;

}  // namespace

TEST_CASE("an interruption keeps what was measured and makes no unverified profile") {
  const Family family;
  for (const std::int64_t after : {0, 1, 2, 5, 60, 199, 200}) {
    CAPTURE(after);
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family);
    std::int64_t evaluations = 0;
    StopCondition stop({}, [&] { return evaluations >= after; });
    TunerCallbacks callbacks;
    callbacks.progress = [&](const TuningProgress& progress) { evaluations = progress.all_evaluations; };
    const auto results =
        Tuner(evaluator, temporary.store, {}, callbacks).tune({fake::problem(64), fake::problem(32)}, stop);
    CHECK(results.size() == (after == 0 ? 1 : 2));
    std::int64_t kept = 0;
    for (const TuningResult& result : results) {
      CHECK(result.interrupted);
      CHECK(!result.profile);
      CHECK(!temporary.store.find(key(result.problem.at("size"))));
      kept += static_cast<std::int64_t>(temporary.store.measurements(key(result.problem.at("size"))).size());
    }
    CHECK(kept == after);
  }
}

TEST_CASE("a dead device ends the run with one line, keeps all, and the next run leaves the culprit out") {
  const TemporaryStore temporary;
  const Family family;
  const std::string culprit = "kind=good width=7 depth=7";
  fake::FakeEvaluator evaluator(family);
  evaluator.fate = [&](const Configuration& c) {
    return c.text() == culprit ? Status::illegal_access : Status::correct;
  };
  evaluator.dies_for_good = true;
  StopCondition stop;
  const std::vector<Problem> problems{fake::problem(64)};
  CHECK_THROWS_AS((void)Tuner(evaluator, temporary.store).tune(problems, stop), Error);
  const auto measured = temporary.store.measurements(key(64));
  CHECK(!measured.empty());
  CHECK(std::count_if(measured.begin(), measured.end(),
                      [](const Measurement& m) { return m.status == Status::illegal_access; }) == 1);
  CHECK(measured.front().configuration == culprit);
  CHECK(!temporary.store.find(key(64)));

  fake::FakeEvaluator again(family);
  again.fate = evaluator.fate;
  again.dies_for_good = true;
  const auto results = Tuner(again, temporary.store).tune(problems, stop);
  REQUIRE(results.size() == 1);
  CHECK(results[0].profile);
  CHECK(again.prepared.count(culprit) == 0);
}

TEST_CASE("an evaluator that ends any wait because somebody asked to stop: what was measured is kept") {
  int most = 1000;
  for (int calls = 0; calls <= most; ++calls) {
    CAPTURE(calls);
    const TemporaryStore temporary;
    const Family family;
    fake::FakeEvaluator evaluator(family, 1);
    evaluator.on_processor = calls % 2 == 0;
    int left = calls;
    bool asked = false;
    evaluator.waits = [&] {
      asked = asked || left-- == 0;
      if (asked) throw Interrupted();
    };
    StopCondition stop({.seconds = {}, .evaluations = 20}, [&] { return asked; });
    Tuner tuner(evaluator, temporary.store, {.seed = 1});
    std::vector<TuningResult> results;
    try {
      results = tuner.tune({fake::problem(8), fake::problem(64)}, stop);
    } catch (const Interrupted&) {  // before the run had begun
      CHECK(temporary.store.measurements().empty());
    }
    std::int64_t evaluations = 0;
    for (const TuningResult& result : results) {
      evaluations += result.evaluations();
      CHECK(result.profile.has_value() == !result.interrupted);
    }
    CHECK(static_cast<std::int64_t>(temporary.store.measurements().size()) >= evaluations);
    if (!asked) most = calls;  // it came to the end
  }
  CHECK(most < 1000);
}

TEST_CASE("the same where time ends the run, and searches that wait for the compiler are passed over") {
  const Family family;
  bool came_to_the_end = false;
  for (int calls = 0; calls < 1200; calls += calls < 300 ? 1 : 9) {
    CAPTURE(calls);
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family, 1);
    evaluator.compile_seconds = 0.4;
    evaluator.run_seconds = 0.02;
    int left = calls;
    bool asked = false;
    evaluator.waits = [&] {
      asked = asked || left-- == 0;
      if (asked) throw Interrupted();
    };
    StopCondition stop(
        {.seconds = 4.0, .evaluations = {}}, [&] { return asked; }, [&] { return evaluator.now; });
    try {
      for (const TuningResult& result :
           Tuner(evaluator, temporary.store, {.seed = 1}).tune({fake::problem(8), fake::problem(64)}, stop)) {
        CHECK(result.profile.has_value() == !result.interrupted);
      }
    } catch (const Interrupted&) {  // before the run had begun
      CHECK(temporary.store.measurements().empty());
    }
    came_to_the_end = came_to_the_end || !asked;
  }
  CHECK(came_to_the_end);
}
