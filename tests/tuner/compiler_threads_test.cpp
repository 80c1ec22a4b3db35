// The compiler works ahead of the measuring.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "fake_evaluator.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/one_search.hpp"

using namespace heddle;

namespace {

using fake::Family;
using fake::key;
using fake::tune_one;

}  // namespace

TEST_CASE("the compiler is kept at work, and what it was asked for is tried, with few threads and with many") {
  const Family family;
  std::vector<Problem> problems;
  for (std::int64_t size = 16; size < 56; ++size) problems.push_back(fake::problem(size));
  for (const std::size_t threads : {2U, 4U, 16U}) {
    const double budget = 800.0 / static_cast<double>(threads);  // 25 kernels for each problem
    CAPTURE(threads);
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family);
    evaluator.threads = threads;
    evaluator.compile_seconds = 0.8;
    evaluator.run_seconds = 0.002;
    StopCondition stop({.seconds = budget, .evaluations = {}}, {}, [&] { return evaluator.now; });
    const auto results = Tuner(evaluator, temporary.store, {}).tune(problems, stop);
    CHECK(results.size() == problems.size());
    std::int64_t tried = 0;
    for (const TuningResult& result : results) tried += result.evaluations();
    const auto compiled = static_cast<double>(evaluator.compiled.size());
    CHECK(static_cast<double>(tried) >= 0.9 * compiled);
    CHECK(compiled * evaluator.compile_seconds >= 0.6 * static_cast<double>(threads) * evaluator.now);
    CHECK(evaluator.now <= 1.05 * budget);
  }
}

TEST_CASE("a problem whose kernels take long does not hold up the others") {
  const Family family;
  std::vector<Problem> problems;
  for (std::int64_t size = 16; size < 36; ++size) problems.push_back(fake::problem(size));
  const Problem slow = problems[3];
  // What the others try meanwhile.
  const auto tried = [&](double more) {
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family);
    evaluator.threads = 16;
    evaluator.compile_seconds = 0.3;
    evaluator.more_compile_seconds = [&](const Problem& problem) { return problem == slow ? more : 0.0; };
    evaluator.run_seconds = 0.01;
    StopCondition stop({.seconds = 60.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
    const auto results = Tuner(evaluator, temporary.store, {}).tune(problems, stop);
    CHECK(results.size() == problems.size());
    std::int64_t sum = 0;
    for (const TuningResult& result : results) {
      CHECK(result.profile);
      if (result.problem != slow) sum += result.evaluations();
    }
    return sum;
  };
  const std::int64_t usual = tried(0.0);
  CHECK(usual > 500);
  CHECK(10 * tried(12.0) > 6 * usual);
}

TEST_CASE("who was refused for want of time is begun when others have ended sooner") {
  const Family family;
  std::vector<Problem> problems;
  for (std::int64_t size = 16; size < 36; ++size) problems.push_back(fake::problem(size));
  const TemporaryStore temporary;
  fake::FakeEvaluator evaluator(family);
  evaluator.threads = 16;
  evaluator.compile_seconds = 0.3;
  evaluator.run_seconds = 0.002;
  StopCondition stop({.seconds = 60.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
  CHECK(Tuner(evaluator, temporary.store, {}).tune(problems, stop).size() == problems.size());
}

TEST_CASE("while the default is compiled, so are the first proposals, if nothing else is known") {
  class Unnamed : public Family {
   public:
    std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override { return {}; }
  };
  const TemporaryStore temporary;
  const Unnamed family;
  fake::FakeEvaluator evaluator(family, 15);
  evaluator.compile_seconds = 1.0;
  std::size_t compiled_first = 0;
  evaluator.cost = [&](const Configuration& configuration, const Problem&) {
    if (compiled_first == 0) compiled_first = evaluator.compiled.size();
    return 2.0 + std::abs(static_cast<double>(configuration.number("width")) - 10.0);
  };
  const TuningResult result = tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = 40}, 64);
  REQUIRE(result.profile);
  CHECK(compiled_first > 8);
  CHECK(result.evaluations() == 40);
  std::set<std::string> screened;
  for (const Measurement& each : temporary.store.measurements(key(64))) screened.insert(each.configuration);
  CHECK(screened.size() == 40);
}
