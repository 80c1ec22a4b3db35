#include "heddle/bench/step/stored_knowledge.hpp"

#include <doctest/doctest.h>

#include "heddle/tuner/tuner.hpp"
#include "tuner/fake_evaluator.hpp"

namespace heddle::bench {
namespace {

TEST_CASE("what was tuned leads the search of one mapping: winners, and costs at other problems") {
  const fake::Family family;
  fake::FakeEvaluator evaluator(family);
  evaluator.noise = evaluator.outliers = 0.0;
  ProfileStore store(":memory:", ProfileStore::Access::read_write);
  const StoredKnowledge nothing(evaluator, store);
  CHECK(nothing.known().winners.empty());
  CHECK(nothing.known().costs->expected(fake::problem(64), {fake::Family::configuration("good", 4, 4)}).empty());

  const std::vector<Problem> problems{fake::problem(32), fake::problem(64), fake::problem(100)};
  StopCondition stop({.seconds = {}, .evaluations = 300});
  const auto results = Tuner(evaluator, store, {}).tune(problems, stop);
  const StoredKnowledge knowledge(evaluator, store);
  REQUIRE(!knowledge.known().winners.empty());
  for (const TuningResult& result : results) {
    REQUIRE(result.profile);
    CHECK(std::ranges::count(knowledge.known().winners, result.profile->configuration, &Configuration::text) == 1);
  }
  // Between problems that were tuned, a good configuration is expected to be faster than a bad one.
  const Configuration good = fake::Family::configuration("good", 10, 4),
                      bad = fake::Family::configuration("good", 1, 10);
  const std::vector<float> expected = knowledge.known().costs->expected(fake::problem(48), {good, bad});
  REQUIRE(expected.size() == 2);
  CHECK(expected[0] < expected[1]);
}

}  // namespace
}  // namespace heddle::bench
