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
