#include "heddle/bench/step/fixed_mapping.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "tuner/fake_evaluator.hpp"

namespace heddle::bench {
namespace {

using fake::FakeEvaluator;

std::vector<Problem> sizes(std::initializer_list<std::int64_t> list) {
  std::vector<Problem> problems;
  for (const std::int64_t size : list) problems.push_back(Problem({{"size", size}}));
  return problems;
}

TEST_CASE("the fixed mapping is the best mean over all problems, of all configurations that all of them allow") {
  const fake::Family family;
  FakeEvaluator evaluator(family);
  evaluator.noise = evaluator.outliers = 0.0;
  const std::vector<Problem> problems = sizes({16, 64, 256, 1024});
  const FixedMapping found = best_fixed(evaluator, problems, {}, 1, StopCondition(), StopCondition());
  REQUIRE(found.configuration);
  CHECK(found.candidates == found.allowed);  // the search had all the time it wanted
  CHECK(found.problems == problems.size());
  const auto mean = [&](const Configuration& one) {
    double sum = 0.0;
    for (const Problem& problem : problems) sum += std::log(evaluator.cost(one, problem));
    return sum;
  };
  const SearchSpace space = family.space(evaluator.device());
  for (const Configuration& one : space.enumerate(problems.front())) {
    const bool everywhere = std::ranges::none_of(
        problems, [&](const Problem& problem) { return space.violated(one, problem).has_value(); });
    if (everywhere) CHECK(mean(one) >= mean(*found.configuration) - 1e-9);
  }
}

TEST_CASE("a configuration that fails is not the fixed mapping, and a search without time finds none") {
  const fake::Family family;
  FakeEvaluator evaluator(family);
  const std::vector<Problem> problems = sizes({16, 64});
  const FixedMapping best = best_fixed(evaluator, problems, {}, 1, StopCondition(), StopCondition());
  REQUIRE(best.configuration);
  evaluator.fate = [&](const Configuration& one) {
    return one == *best.configuration ? Status::launch : Status::correct;
  };
  const FixedMapping other = best_fixed(evaluator, problems, {}, 1, StopCondition(), StopCondition());
  REQUIRE(other.configuration);
  CHECK(*other.configuration != *best.configuration);
  const StopCondition none({.seconds = {}, .evaluations = 0});
  CHECK_FALSE(best_fixed(evaluator, problems, {}, 1, StopCondition(), none).configuration);
}

TEST_CASE("a search has enough candidates, or names no mapping") {
  const fake::Family family;
  FakeEvaluator evaluator(family);
  const std::vector<Problem> problems = sizes({16, 64});
  const StopCondition at_once({.seconds = {}, .evaluations = 0});
  const FixedMapping found = best_fixed(evaluator, problems, {}, 1, at_once, StopCondition());
  CHECK(found.configuration);
  CHECK(found.candidates == kFewestCandidates);
  CHECK(found.allowed > found.candidates);

  evaluator.prepared.clear();
  const StopCondition after_a_batch({}, [&] { return evaluator.prepared.size() >= 16; });
  const FixedMapping cut = best_fixed(evaluator, problems, {}, 1, StopCondition(), after_a_batch);
  CHECK_FALSE(cut.configuration);
  CHECK(cut.candidates < kFewestCandidates);
}

TEST_CASE("what won somewhere, or is expected to be fast, is tried whatever the time is") {
  const fake::Family family({"good", "other", "third", "fourth"});  // too many to be tried
  FakeEvaluator evaluator(family);
  evaluator.noise = evaluator.outliers = 0.0;
  const Configuration best = fake::Family::configuration("fourth", 17, 9);
  evaluator.cost = [&](const Configuration& one, const Problem&) {
    return one == best ? 1.0 : 2.0 + static_cast<double>(one.number("width"));
  };
  const std::vector<Problem> problems = sizes({16, 64, 256});
  const StopCondition at_once({.seconds = {}, .evaluations = 0});
  const auto found = [&](const FixedKnowledge& known) {
    return best_fixed(evaluator, problems, known, 1, at_once, StopCondition()).configuration;
  };
  REQUIRE(found({}) != best);  // nothing leads there
  CHECK(found({.winners = {best}}) == best);
  Transfer costs(family.axes(), [&](const Configuration& one, const Problem& problem) {
    return std::optional(evaluator.cost(one, problem));
  });
  CHECK(found({.winners = {}, .costs = &costs}) == best);
  // One that some problem does not allow is left out.
  const std::vector<Problem> small = sizes({4, 64});
  const auto allowed = best_fixed(evaluator, small, {.winners = {best}}, 1, at_once, StopCondition()).configuration;
  REQUIRE(allowed);
  CHECK(allowed->number("depth") <= 4);
}

}  // namespace
}  // namespace heddle::bench
