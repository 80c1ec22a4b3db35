#include "heddle/tuner/regret.hpp"

#include <doctest/doctest.h>

#include <set>

#include "fake_evaluator.hpp"
#include "heddle/runtime/device/device.hpp"

using namespace heddle;

namespace {

Profile tuned(std::int64_t size, const std::string& configuration) {
  Profile profile;
  profile.key = {.device = fake::identity(), .family = "fake", .problem = fake::problem(size)};
  profile.source_hash = fake::Family().source("").hash();
  profile.configuration = configuration;
  profile.time = 1.0;
  profile.samples = 64;
  return profile;
}

Regret regret_of(const std::string& configuration, Status fate = Status::correct) {
  const fake::Family family;
  fake::FakeEvaluator evaluator(family);
  evaluator.fate = [&](const Configuration& c) { return c.text() == configuration ? fate : Status::correct; };
  StopCondition stop;
  return measure_regret(evaluator, {tuned(64, configuration)}, fake::problem(60), {.strategy = "exhaustive"}, stop);
}

}  // namespace

TEST_CASE("sizes between the tuned ones, none of them tuned") {
  const std::vector<Problem> grid{fake::problem(16), fake::problem(64), fake::problem(256)};
  const auto found = problems_between(grid, 30, 3);
  CHECK(found.size() == 30);
  CHECK(std::set<Problem>(found.begin(), found.end()).size() == 30);
  std::size_t small = 0;
  for (const Problem& problem : found) {
    CHECK(problem.at("size") > 16);
    CHECK(problem.at("size") < 256);
    CHECK(problem != grid[1]);
    small += problem.at("size") < 64 ? 1U : 0U;
  }
  CHECK(small > 6);  // as many doublings below 64 as above
  CHECK(small < 24);
  CHECK(problems_between(grid, 30, 3) == found);
  CHECK(problems_between(grid, 30, 4) != found);
  CHECK(problems_between({fake::problem(16), fake::problem(17)}, 5, 1).empty());
  CHECK(problems_between({}, 5, 1).empty());
}

TEST_CASE("what the choice loses against the best that a search finds") {
  const Regret best = regret_of("kind=good width=10 depth=4");
  CHECK(best.loss == 0.0);
  CHECK(best.best == best.chosen);
  CHECK(best.evaluations == 200);
  REQUIRE(best.default_time);
  CHECK(*best.default_time == doctest::Approx(7.25).epsilon(0.05));
  const Regret worse = regret_of("kind=good width=6 depth=4");  // 4 us where 2 are possible
  CHECK(worse.chosen == "kind=good width=6 depth=4");
  CHECK(worse.best == "kind=good width=10 depth=4");
  CHECK(worse.loss == doctest::Approx(1.0).epsilon(0.1));
  CHECK(worse.chosen_time == doctest::Approx(worse.best_time * (1.0 + worse.loss)));
  CHECK(!worse.reason.empty());
  const Regret usual = regret_of("kind=good width=1 depth=1");
  CHECK(usual.default_time == usual.chosen_time);
  CHECK_THROWS_AS((void)regret_of("kind=good width=6 depth=4", Status::launch), Error);
}
