#include "heddle/bench/step/cross_trial.hpp"

#include <doctest/doctest.h>

#include "tuner/fake_evaluator.hpp"

namespace heddle::bench {
namespace {

using fake::FakeEvaluator;
using fake::Family;
using fake::problem;

TEST_CASE("what won at one problem is tried at its neighbours that allow it") {
  const Family family;
  FakeEvaluator evaluator(family);
  evaluator.noise = evaluator.outliers = 0.0;
  evaluator.cost = [](const Configuration& one, const Problem& p) {
    // The wide one is the fastest of large problems, where it is deep it may not run at small ones.
    const double wide = p.at("size") > 100 ? 1.0 : 5.0;
    return one.number("width") == 20 ? wide : one.number("depth") == 10 ? 0.5 : 2.0 + 0.1 * one.number("width");
  };
  const std::string slow = Family::configuration("good", 3, 1).text();
  const std::string wide = Family::configuration("good", 20, 1).text();
  const std::string deep = Family::configuration("good", 4, 10).text();
  const std::vector<Problem> problems{problem(4), problem(8), problem(200), problem(400)};

  const auto found = cross_tried(evaluator, {{problem(8), slow}, {problem(200), slow}, {problem(400), wide}}, problems,
                                 StopCondition());
  CHECK(found.at(problem(8)) == slow);
  CHECK(found.at(problem(200)) == wide);
  CHECK(found.at(problem(400)) == wide);
  CHECK(found.at(problem(4)) == slow);  // it had none of its own
  CHECK(cross_tried(evaluator, {{problem(200), deep}, {problem(4), slow}}, problems, StopCondition()).at(problem(4)) ==
        slow);
  CHECK(
      cross_tried(evaluator, {{problem(200), deep}, {problem(4), slow}}, problems, StopCondition()).at(problem(400)) ==
      deep);
}

TEST_CASE("the winners of the nearest problems are tried, each once, and none from further away") {
  const Family family;
  FakeEvaluator evaluator(family);
  evaluator.noise = evaluator.outliers = 0.0;
  evaluator.cost = [](const Configuration& one, const Problem&) { return 100.0 - one.number("width"); };
  std::map<Problem, std::string> winners;
  for (const std::int64_t size : {100, 101, 102})
    winners.emplace(problem(size), Family::configuration("good", 1, 1).text());
  for (std::int64_t width = 2; width <= 20; ++width) {
    winners.emplace(problem(101 + width), Family::configuration("good", width, 1).text());
  }
  const auto found = cross_tried(evaluator, winners, {problem(100), problem(103)}, StopCondition());
  CHECK(found.at(problem(100)) == Family::configuration("good", 16, 1).text());
  CHECK(found.at(problem(103)) == Family::configuration("good", 16, 1).text());
  CHECK(found.at(problem(121)) == winners.at(problem(121)));  // not asked for
}

TEST_CASE("where nothing can run, or time is over, winners stay as they are") {
  const Family family;
  FakeEvaluator evaluator(family);
  const std::string one = Family::configuration("good", 3, 1).text();
  const std::string other = Family::configuration("good", 4, 1).text();
  const std::map<Problem, std::string> winners{{problem(8), one}, {problem(16), other}};
  const StopCondition over({.seconds = {}, .evaluations = 0});
  CHECK(cross_tried(evaluator, winners, {problem(8), problem(16)}, over) == winners);
  evaluator.fate = [](const Configuration&) { return Status::launch; };
  CHECK(cross_tried(evaluator, winners, {problem(8), problem(16)}, StopCondition()) == winners);
  CHECK(cross_tried(evaluator, {}, {problem(8)}, StopCondition()).empty());
}

}  // namespace
}  // namespace heddle::bench
