// Many problems in little time: what a search tries first, and how long its default is timed.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "fake_evaluator.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/temporary_store.hpp"

namespace heddle {
namespace {

using fake::Family;

std::vector<Problem> many(std::int64_t count) {
  std::vector<Problem> problems;
  for (std::int64_t i = 0; i < count; ++i) problems.push_back(fake::problem(10 + i));
  return problems;
}

/// Virtual time: nothing but runs and the compiler takes any.
struct VirtualRun {
  TemporaryStore temporary;
  Family family;
  fake::FakeEvaluator evaluator{family};
  std::vector<TuningResult> results;

  explicit VirtualRun(double budget, std::int64_t problems = 40) {
    evaluator.noise = evaluator.outliers = 0.0;
    evaluator.threads = 2;
    evaluator.run_seconds = 0.02;
    evaluator.compile_seconds = 0.01;
    StopCondition stop({.seconds = budget, .evaluations = {}}, {}, [this] { return evaluator.now; });
    results = Tuner(evaluator, temporary.store, {}).tune(many(problems), stop);
  }
  std::int64_t fewest() const {
    std::vector<std::int64_t> counts;
    for (const TuningResult& result : results) counts.push_back(result.profile ? result.evaluations() : 0);
    return *std::ranges::min_element(counts);
  }
};

TEST_CASE("where time is short every problem is reached, and tries more than its default") {
  const VirtualRun ample(400.0);
  CHECK(ample.results.size() == 40);
  CHECK(ample.fewest() > 8);

  // Eight configurations and finals take 1.3 s a problem.
  const VirtualRun scarce(50.0);
  CHECK(scarce.results.size() == 40);
  CHECK(scarce.fewest() > 1);
  CHECK(scarce.fewest() < 8);
  CHECK(scarce.evaluator.now < 55.0);
}

TEST_CASE("the untuned default is timed for long only where the device was idle before") {
  const auto repetitions = [](const VirtualRun& run, const Problem& problem) {
    std::size_t times = 0;
    for (const Measurement& each : run.temporary.store.measurements()) {
      const bool is_default = each.configuration == Family::configuration("good", 1, 1).text();
      if (each.key.problem == problem && each.visit == 0 && is_default) times = each.times.size();
    }
    return times;
  };
  const VirtualRun run(400.0, 3);
  std::vector<std::size_t> counts;  // which problem comes first is the schedule's business
  for (const Problem& problem : many(3)) counts.push_back(repetitions(run, problem));
  std::ranges::sort(counts);
  CHECK(counts[0] == 3);
  CHECK(counts[1] == 3);
  CHECK(counts[2] > 10);

  VirtualRun paused(400.0, 1);
  paused.evaluator.now += 10.0;
  StopCondition stop({.seconds = 400.0, .evaluations = {}}, {}, [&] { return paused.evaluator.now; });
  (void)Tuner(paused.evaluator, paused.temporary.store, {}).tune({fake::problem(11)}, stop);
  CHECK(repetitions(paused, fake::problem(11)) > 10);
}

}  // namespace
}  // namespace heddle
