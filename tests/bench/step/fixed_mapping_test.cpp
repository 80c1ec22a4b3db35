#include "heddle/bench/step/fixed_mapping.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

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
  const FixedMapping found = best_fixed(evaluator, problems, 1, StopCondition(), StopCondition());
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
  const FixedMapping best = best_fixed(evaluator, problems, 1, StopCondition(), StopCondition());
  REQUIRE(best.configuration);
  evaluator.fate = [&](const Configuration& one) {
    return one == *best.configuration ? Status::launch : Status::correct;
  };
  const FixedMapping other = best_fixed(evaluator, problems, 1, StopCondition(), StopCondition());
  REQUIRE(other.configuration);
  CHECK(*other.configuration != *best.configuration);
  const StopCondition none({.seconds = {}, .evaluations = 0});
  CHECK_FALSE(best_fixed(evaluator, problems, 1, none, StopCondition()).configuration);
}

}  // namespace
}  // namespace heddle::bench
