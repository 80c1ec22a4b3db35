#include "heddle/bench/fuzzy/three_ways.hpp"

#include <doctest/doctest.h>

#include "../../tuner/fake_evaluator.hpp"

namespace heddle {
namespace {

/// Little noise, and no repetitions that take twice as long.
fake::FakeEvaluator quiet(const KernelFamily& family) {
  fake::FakeEvaluator evaluator(family);
  evaluator.noise = 1e-6;
  evaluator.outliers = 0.0;
  return evaluator;
}

constexpr std::size_t kAll = 1000;  // more than the space has

}  // namespace

TEST_CASE("the fixed configuration is the best one over all problems, not that of one") {
  const fake::Family family;
  fake::FakeEvaluator evaluator = quiet(family);
  // Widths 4, 8 and 18 are best for a problem each; of all, 9 has the least geometric mean.
  evaluator.cost = [](const Configuration& configuration, const Problem& problem) {
    const double best = problem.at("size") == 8 ? 4.0 : problem.at("size") == 9 ? 8.0 : 18.0;
    const double apart = static_cast<double>(configuration.number("width")) - best;
    return 100.0 + apart * apart + static_cast<double>(configuration.number("depth"));
  };
  bench::ThreeWaysOptions options;
  options.sample = kAll;
  const auto all =
      bench::compare_three_ways(evaluator, {fake::problem(8), fake::problem(9), fake::problem(10)}, options);
  REQUIRE(all.size() == 3);
  for (const bench::ThreeWays& of : all) {
    CHECK(of.valid == 20 * (of.problem.at("size") == 9 ? 9 : of.problem.at("size") == 8 ? 8 : 10));
    CHECK(of.tried == of.valid);
    CHECK(of.untuned.configuration.text() == "kind=good width=1 depth=1");
    REQUIRE(of.fixed.has_value());
    CHECK(of.fixed->configuration.number("width") == 9);
    CHECK(of.fixed->configuration.number("depth") == 1);
    CHECK(of.tuned.configuration.number("width") == (of.problem.at("size") == 8   ? 4
                                                     : of.problem.at("size") == 9 ? 8
                                                                                  : 18));
    CHECK(of.tuned.microseconds == doctest::Approx(101.0));
  }
}

TEST_CASE("a configuration that fails is neither the fixed nor the tuned one") {
  const fake::Family family;
  fake::FakeEvaluator evaluator = quiet(family);
  const Configuration fastest = fake::Family::configuration("good", 7, 1);
  evaluator.cost = [&](const Configuration& configuration, const Problem&) {
    return configuration == fastest ? 1.0 : static_cast<double>(5 + configuration.number("width"));
  };
  evaluator.fate = [&](const Configuration& configuration) {
    return configuration == fastest ? Status::launch : Status::correct;
  };
  bench::ThreeWaysOptions options;
  options.sample = kAll;
  for (const bench::ThreeWays& of :
       bench::compare_three_ways(evaluator, {fake::problem(8), fake::problem(9)}, options)) {
    REQUIRE(of.fixed.has_value());
    CHECK(of.fixed->configuration.number("width") == 1);
    CHECK(of.tuned.configuration.number("width") == 1);
    CHECK(of.tried == of.valid - 1);
  }
}

TEST_CASE("when it is late only the untuned configuration and as many as asked for are timed") {
  const fake::Family family;
  fake::FakeEvaluator evaluator = quiet(family);
  bench::ThreeWaysOptions options;
  options.sample = kAll;
  options.late = [](std::size_t) { return true; };
  options.least = 0;
  for (const bench::ThreeWays& of : bench::compare_three_ways(evaluator, {fake::problem(8)}, options)) {
    CHECK(of.tried == 1);
    CHECK(of.tuned.configuration == of.untuned.configuration);
    REQUIRE(of.fixed.has_value());
    CHECK(of.fixed->configuration == of.untuned.configuration);
  }
  options.least = 3;
  for (const bench::ThreeWays& of : bench::compare_three_ways(evaluator, {fake::problem(8)}, options)) {
    CHECK(of.valid > 3);
    CHECK(of.tried == 3);
  }
}

}  // namespace heddle
