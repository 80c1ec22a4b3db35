#include "heddle/tuner/regret.hpp"

#include <doctest/doctest.h>

#include <set>

#include "fake_evaluator.hpp"
#include "heddle/runtime/device/device.hpp"
#include "tuner/temporary_store.hpp"

using namespace heddle;

namespace {

Profile tuned(std::int64_t size, const std::string& configuration) {
  Profile profile;
  profile.key = {.device = fake::identity(), .family = "fake", .problem = fake::problem(size)};
  profile.kernels.source_hash = fake::Family().source("").hash();
  profile.configuration = configuration;
  profile.time = 1.0;
  profile.samples = 64;
  return profile;
}

/// What a search measured at `size`, one of `driver`: everything at its cost without noise.
std::vector<Measurement> measured(const fake::FakeEvaluator& evaluator, std::int64_t size, const std::string& driver) {
  const KernelFamily& family = evaluator.family();
  std::vector<Measurement> all;
  for (const Configuration& configuration : family.space(evaluator.device()).enumerate(fake::problem(size))) {
    Measurement measurement;
    measurement.key = tuned(size, "").key;
    measurement.kernels.source_hash = family.source("").hash();
    measurement.configuration = configuration.text();
    measurement.status = Status::unverified;
    measurement.samples = 64;
    measurement.times = {evaluator.cost(configuration, fake::problem(size))};
    measurement.run = 1;  // of the database it comes from
    measurement.provenance.driver = driver;
    all.push_back(measurement);
  }
  return all;
}

Regret regret_of(const std::string& configuration, Status fate = Status::correct) {
  const fake::Family family;
  fake::FakeEvaluator evaluator(family);
  evaluator.fate = [&](const Configuration& c) { return c.text() == configuration ? fate : Status::correct; };
  const TemporaryStore temporary;
  temporary.store.keep(tuned(64, configuration));
  StopCondition stop;
  return RegretMeter(evaluator, temporary.store, {.strategy = "exhaustive"}).measure(fake::problem(60), stop);
}

}  // namespace

TEST_CASE("sizes between the tuned ones, none of them tuned") {
  const std::vector<Problem> grid{fake::problem(16), fake::problem(64), fake::problem(256)};
  const std::vector<Axis>& axes = fake::Family().axes();
  const auto found = problems_between(grid, axes, 30, 3);
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
  CHECK(problems_between(grid, axes, 30, 3) == found);
  CHECK(problems_between(grid, axes, 30, 4) != found);
  CHECK(problems_between({fake::problem(16), fake::problem(17)}, axes, 5, 1).empty());
  CHECK(problems_between({}, axes, 5, 1).empty());
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

TEST_CASE("a choice that spills registers which it did not where it was measured is passed over") {
  const fake::Family family;
  const std::string nearer = "kind=good width=6 depth=4", farther = "kind=good width=7 depth=4";
  const auto regret = [&](std::int64_t here, std::int64_t there, std::int64_t size) {
    fake::FakeEvaluator evaluator(family);
    evaluator.resources_of = [&](const Configuration& c, const Problem& p) {
      return KernelResources{.local_bytes = c.text() != nearer ? 0 : p == fake::problem(size) ? here : there};
    };
    const TemporaryStore temporary;
    temporary.store.keep(tuned(64, nearer));
    temporary.store.keep(tuned(256, farther));
    StopCondition stop;
    return RegretMeter(evaluator, temporary.store, {.strategy = "exhaustive"}).measure(fake::problem(size), stop);
  };
  const Regret spilled = regret(400, 8, 60);
  CHECK(spilled.chosen == farther);
  CHECK(spilled.reason.find("; not " + nearer +
                            " (passed over: a thread takes 400 bytes of local memory, 8 for size=64)") !=
        std::string::npos);
  CHECK(spilled.loss == doctest::Approx(0.75).epsilon(0.1));  // of the one that would run: 3.5 us where 2 are possible
  CHECK(regret(400, 272, 60).chosen == nearer);
  CHECK(regret(401, 272, 60).chosen == farther);
  CHECK(regret(128, 0, 60).chosen == nearer);
  CHECK(regret(400, 0, 64).chosen == nearer);
}

TEST_CASE("the search knows what the database knows, and leaves it as it is") {
  const fake::Family family;
  const std::string poor = "kind=good width=3 depth=9", best = "kind=good width=10 depth=4";
  const TemporaryStore temporary;
  temporary.store.keep(tuned(64, poor));
  constexpr std::int64_t kFew = 12;  // of 200, of which the best is the 94th in order
  const auto regret = [&] {
    fake::FakeEvaluator evaluator(family);
    StopCondition stop({.seconds = {}, .evaluations = kFew});
    const auto profiles = temporary.store.profiles();
    const std::size_t measurements = temporary.store.measurements().size();
    const std::size_t displaced = temporary.store.displaced().size();
    Regret found = RegretMeter(evaluator, temporary.store, {.strategy = "exhaustive"}).measure(fake::problem(60), stop);
    CHECK(temporary.store.measurements().size() == measurements);
    const auto after = temporary.store.profiles();
    REQUIRE(after.size() == profiles.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
      CHECK(after[i].configuration == profiles[i].configuration);
      CHECK(after[i].kernels.source_hash == profiles[i].kernels.source_hash);
      CHECK(after[i].provenance == profiles[i].provenance);
    }
    CHECK(temporary.store.displaced().size() == displaced);
    return found;
  };
  CHECK(regret().best != best);

  SUBCASE("winners of other problems") {
    temporary.store.keep(tuned(1024, best));
    const Regret found = regret();
    CHECK(found.chosen == poor);
    CHECK(found.best == best);
    CHECK(found.evaluations == kFew);
  }
  SUBCASE("a local winner that an import displaced") {
    temporary.store.keep(tuned(1024, best));
    temporary.store.keep_for_now(tuned(1024, poor));
    CHECK(regret().best == best);
  }
  SUBCASE("measurements at other problems") {
    const fake::FakeEvaluator evaluator(family);
    temporary.store.record(measured(evaluator, 64, evaluator.driver));
    CHECK(regret().best == best);
  }
  SUBCASE("what another driver measured says nothing") {
    const fake::FakeEvaluator evaluator(family);
    temporary.store.record(measured(evaluator, 64, "older"));
    CHECK(regret().best != best);
  }
  SUBCASE("profiles that would have to be measured again are not") {
    Profile changed = tuned(1024, best);
    changed.kernels.source_hash = "older";
    changed.provenance.driver = "older";
    changed.provenance.clocks = "SM 1 MHz";
    temporary.store.keep(changed);
    const Regret found = regret();
    CHECK(found.problem == fake::problem(60));
    CHECK(found.best == best);
    CHECK(found.evaluations == kFew);
  }
}

TEST_CASE("what is found at one size is no knowledge at the next") {
  const fake::Family family;
  const TemporaryStore temporary;
  temporary.store.keep(tuned(64, "kind=good width=3 depth=9"));
  const auto compiled_at_50 = [&](bool searched_before) {
    fake::FakeEvaluator evaluator(family);
    evaluator.noise = evaluator.outliers = 0.0;
    RegretMeter meter(evaluator, temporary.store, {.strategy = "exhaustive"});
    StopCondition all;
    if (searched_before) CHECK(meter.measure(fake::problem(60), all).best == "kind=good width=10 depth=4");
    evaluator.compiled.clear();
    StopCondition few({.seconds = {}, .evaluations = 12});
    (void)meter.measure(fake::problem(50), few);
    return evaluator.compiled;
  };
  CHECK(compiled_at_50(true) == compiled_at_50(false));
}
