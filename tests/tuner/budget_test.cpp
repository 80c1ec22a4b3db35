// Problems that take longer than the budget allows.
#include <doctest/doctest.h>

#include <map>
#include <utility>
#include <vector>

#include "fake_evaluator.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/one_search.hpp"

using namespace heddle;

namespace {

using fake::Family;

/// Its work grows with the square of the size.
class SquareFamily final : public Family {
 public:
  Work work(const Problem& problem) const override {
    const auto size = static_cast<double>(problem.at("size"));
    return {.bytes = size, .operations = size * size};
  }
};

}  // namespace

TEST_CASE("a problem whose untuned default takes too long for the budget does not take it from the others") {
  const TemporaryStore temporary;
  const SquareFamily family;
  fake::FakeEvaluator evaluator(family, 1);
  evaluator.on_processor = true;
  evaluator.more_run_seconds = [](const Problem& problem) {
    return 1e-5 * static_cast<double>(problem.at("size") * problem.at("size"));
  };
  std::vector<Problem> problems;
  for (const std::int64_t size : {8, 32, 4096, 8192, 16384}) problems.push_back(fake::problem(size));
  StopCondition stop({.seconds = 60.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
  std::map<std::int64_t, TuningResult> results;
  for (TuningResult& result : Tuner(evaluator, temporary.store, {}).tune(problems, stop)) {
    const std::int64_t size = result.problem.at("size");
    results.emplace(size, std::move(result));
  }
  for (const std::int64_t size : {8, 32}) {
    REQUIRE(results.contains(size));
    CHECK(results.at(size).profile);
    CHECK(!results.at(size).out_of_time);
  }
  for (const std::int64_t size : {4096, 8192, 16384}) {  // 168 s and more
    if (!results.contains(size)) continue;
    CHECK(!results.at(size).profile);
    CHECK(results.at(size).out_of_time >= 5.0);
  }
  CHECK(evaluator.now < 75.0);
  for (const Measurement& measurement : temporary.store.measurements()) {
    CHECK(measurement.key.problem.at("size") <= 32);  // it is nobody's failure
  }
}

TEST_CASE("a budget that is too short for any problem is used for few of them") {
  const TemporaryStore temporary;
  const SquareFamily family;
  fake::FakeEvaluator evaluator(family, 1);
  evaluator.run_seconds = 1000.0;
  std::vector<Problem> problems;
  for (std::int64_t size = 8; size <= 8192; size *= 2) problems.push_back(fake::problem(size));
  StopCondition stop({.seconds = 16.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
  const auto results = Tuner(evaluator, temporary.store, {}).tune(problems, stop);
  CHECK(!results.empty());
  CHECK(results.size() <= 4);
  for (const TuningResult& result : results) CHECK(result.out_of_time);
  CHECK(evaluator.now < 25.0);
}

TEST_CASE("finals of a kernel that takes seconds end with the budget") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family, 1);
  evaluator.on_processor = true;
  evaluator.run_seconds = 2.0;
  evaluator.cost = [](const Configuration&, const Problem&) { return 2e6 / 32; };
  StopCondition stop({.seconds = 16.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
  const auto results = Tuner(evaluator, temporary.store, {}).tune({fake::problem(8)}, stop);
  REQUIRE(results.size() == 1);
  CHECK(results[0].profile);
  CHECK(evaluator.now < 32.0);
}

namespace {

/// What one search tries in 200 s of virtual time, and when it ends.
struct Searched {
  TuningResult result;
  double seconds;
};
Searched searched_for_200_seconds(double run_seconds, bool on_processor) {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family, 1);
  evaluator.on_processor = on_processor;
  evaluator.compile_seconds = 4.0;
  evaluator.run_seconds = run_seconds;
  StopCondition stop({.seconds = 200.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
  auto results = Tuner(evaluator, temporary.store, {}).tune({fake::problem(64)}, stop);
  REQUIRE(results.size() == 1);
  return {.result = std::move(results[0]), .seconds = evaluator.now};
}
std::int64_t tried_in(const Searched& searched) {
  std::int64_t tried = 0;
  for (const auto& [status, count] : searched.result.statuses) tried += count;
  return tried;
}

}  // namespace

TEST_CASE("a search gets back the time that its finals will not take") {
  const Searched fast = searched_for_200_seconds(0.001, false);
  REQUIRE(fast.result.profile);
  CHECK(tried_in(fast) > 180);  // one a second: four compilers, 4 s each
  CHECK(fast.seconds > 185.0);
  CHECK(fast.seconds < 201.0);
}

TEST_CASE("a search leaves to finals that take long a quarter of its time, and no more") {
  for (const bool on_processor : {false, true}) {
    const Searched slow = searched_for_200_seconds(0.1, on_processor);
    REQUIRE(slow.result.profile);
    CHECK(slow.seconds > 150.0);
    CHECK(slow.seconds < 205.0);
  }
}

TEST_CASE("what ends after one round of the finals does not choose the default for being simple") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family, 1);
  evaluator.on_processor = true;
  evaluator.noise = evaluator.outliers = 0.0;
  evaluator.run_seconds = 1.0;  // so that the time is over after a round or two
  StopCondition stop({.seconds = 48.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
  const auto results = Tuner(evaluator, temporary.store, {}).tune({fake::problem(64)}, stop);
  REQUIRE(results.size() == 1);
  REQUIRE(results[0].profile);
  CHECK(results[0].profile->configuration != results[0].untuned.configuration);
  CHECK(results[0].profile->time < *results[0].untuned.time);
}
