// Several problems in one run: shares of the budget, winners of others, sizes between.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "fake_evaluator.hpp"
#include "heddle/tuner/coverage.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/one_search.hpp"

using namespace heddle;

namespace {

using fake::Family;
using fake::key;

}  // namespace

TEST_CASE("a grid shares out its budget, and winners are tried on the problems after them") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  std::vector<Problem> problems;
  for (const std::int64_t size : {16, 32, 64, 128, 256}) problems.push_back(fake::problem(size));
  std::vector<std::int64_t> all;
  double fraction = 0.0;
  std::size_t told = 0;
  TunerCallbacks callbacks;
  callbacks.progress = [&](const TuningProgress& progress) {
    all.push_back(progress.all_evaluations);
    CHECK(progress.problems == problems.size());
    CHECK(std::count(problems.begin(), problems.end(), *progress.problem) == 1);
    CHECK(progress.fraction >= fraction);
    CHECK(progress.fraction <= 1.0);
    fraction = progress.fraction;
  };
  callbacks.result = [&](const TuningResult&) { ++told; };
  std::optional<double> expected_loss;
  callbacks.expected_loss = [&](double loss) { expected_loss = loss; };
  StopCondition stop({.seconds = {}, .evaluations = 300});
  const auto results = Tuner(evaluator, temporary.store, {}, callbacks).tune(problems, stop);
  REQUIRE(results.size() == problems.size());
  CHECK(told == problems.size());
  CHECK(results[0].problem == fake::problem(64));  // the middle of the range
  std::set<Problem> visited;
  CHECK(std::is_sorted(all.begin(), all.end()));
  std::int64_t evaluations = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    REQUIRE(results[i].profile);
    visited.insert(results[i].problem);
    CHECK(results[i].evaluations() > 30);
    evaluations += results[i].evaluations();
    if (i > 0) CHECK(evaluator.prepared[results[i - 1].profile->configuration] > 0);
  }
  CHECK(visited.size() == problems.size());
  REQUIRE(expected_loss);
  CHECK(*expected_loss > 0.0);
  CHECK(*expected_loss < 0.2);
  CHECK(evaluations == all.back());
  CHECK(evaluations <= 310);
}

TEST_CASE("with time left sizes between the problems get profiles too, once") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  evaluator.compile_seconds = 0.01;
  evaluator.run_seconds = 0.001;
  const std::vector<Problem> problems{fake::problem(16), fake::problem(64), fake::problem(256)};
  for (const bool again : {false, true}) {
    CAPTURE(again);
    StopCondition stop({.seconds = 60.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
    const auto results = Tuner(evaluator, temporary.store, {.tune_sizes_between = true}).tune(problems, stop);
    std::set<Problem> asked, between;
    for (const TuningResult& result : results) {
      REQUIRE(result.profile);
      (result.is_between ? between : asked).insert(result.problem);
    }
    CHECK(asked == std::set<Problem>(problems.begin(), problems.end()));
    const std::vector<Problem> within = within_cells(problems, family.axes());
    CHECK(within.size() == 2);
    CHECK(between == (again ? std::set<Problem>{} : std::set<Problem>(within.begin(), within.end())));
    CHECK(temporary.store.profiles().size() == 5);
  }
}

TEST_CASE("a size between the problems of which nothing but the default could be tried gets no profile") {
  const TemporaryStore temporary;
  const Family family;
  const std::vector<Problem> problems{fake::problem(16), fake::problem(64), fake::problem(256)};
  const std::vector<Problem> within = within_cells(problems, family.axes());
  const auto profiles_after = [&](double slow) {
    fake::FakeEvaluator evaluator(family);
    evaluator.compile_seconds = 0.01;
    evaluator.run_seconds = 0.001;
    evaluator.more_compile_seconds = [&](const Problem& problem) {
      return std::ranges::find(problems, problem) == problems.end() ? slow : 0.0;
    };
    StopCondition stop({.seconds = 60.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
    const auto results = Tuner(evaluator, temporary.store, {.tune_sizes_between = true}).tune(problems, stop);
    for (const TuningResult& result : results) CHECK(result.profile.has_value());
    return temporary.store.profiles().size();
  };
  CHECK(profiles_after(15.0) == problems.size() + 1);  // the other size got no further than its default
  CHECK(profiles_after(0.0) == problems.size() + within.size());
}

TEST_CASE("what wins late is tried on the problems before") {
  const Family family;
  std::string fast;  // what the small problem's search comes across and the large one's does not
  for (const bool planted : {false, true}) {
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family);
    evaluator.on_processor = true;  // one problem after the other
    evaluator.cost = [&](const Configuration& c, const Problem&) { return c.text() == fast ? 1.0 : 5.0; };
    double now = 0.0;
    std::vector<std::string> told;
    TunerCallbacks callbacks;
    callbacks.progress = [&](const TuningProgress&) { now += 1.0; };
    callbacks.result = [&](const TuningResult& result) {
      told.push_back(result.problem.text() + (result.winner_changed ? " improved" : ""));
    };
    StopCondition stop({.seconds = 60.0, .evaluations = {}}, {}, [&] { return now; });
    const auto results =
        Tuner(evaluator, temporary.store, {}, callbacks).tune({fake::problem(64), fake::problem(2)}, stop);
    REQUIRE(results.size() == 2);
    if (!planted) {
      std::set<std::string> large;
      for (const Measurement& m : temporary.store.measurements(key(64))) large.insert(m.configuration);
      for (const Measurement& m : temporary.store.measurements(key(2))) {
        if (!large.contains(m.configuration)) fast = m.configuration;
      }
      REQUIRE(!fast.empty());
      continue;
    }
    CHECK(told == std::vector<std::string>{"size=64", "size=2", "size=64 improved"});
    CHECK(results[0].winner_changed);
    CHECK(results[0].searched);
    CHECK(results[0].profile->configuration == fast);
    CHECK(results[1].profile->configuration == fast);
    CHECK(temporary.store.find(key(64))->configuration == fast);
  }
}
