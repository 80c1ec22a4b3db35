// The search for one problem.
#include "heddle/tuner/tuner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fake_device.hpp"
#include "fake_evaluator.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "tuner/one_search.hpp"

using namespace heddle;

namespace {

using fake::Family;
using fake::key;
using fake::tune_one;

}  // namespace

TEST_CASE("an unlimited search finds the best configuration of the space, whatever the strategy") {
  for (const StrategyEntry& entry : strategies()) {
    for (const std::uint64_t noise : {15U, 17U, 20U}) {
      const bool on_processor = noise > 15;
      CAPTURE(entry.name);
      CAPTURE(noise);
      const TemporaryStore temporary;
      const Family family;
      fake::FakeEvaluator evaluator(family, noise);
      evaluator.on_processor = on_processor;
      const TuningResult result =
          tune_one(evaluator, temporary.store, {}, 64, {.strategy = std::string(entry.name), .seed = 4});
      REQUIRE(result.profile);
      CHECK(result.profile->configuration == "kind=good width=10 depth=4");
      CHECK(result.profile->time == doctest::Approx(2.0).epsilon(0.05));
      CHECK(result.profile->provenance.strategy == entry.name);
      CHECK(result.profile->provenance.seed == 4);
      CHECK(result.was_stored);
      CHECK(result.searched);
      CHECK(!result.interrupted);
      CHECK(result.valid == 200);
      CHECK(result.evaluations() == 200);
      CHECK(*result.untuned.time == doctest::Approx(2.0 + 4.5 + 0.75).epsilon(0.05));
      REQUIRE(result.named.size() == 2);
      CHECK(result.named[0].name == "published");
      CHECK(*result.named[0].time == doctest::Approx(2.0 + 4.0 + 0.75).epsilon(0.05));
      CHECK(result.statuses.at(Status::correct) == 1);
      CHECK(result.statuses.at(Status::pruned) > 0);

      const auto kept = temporary.store.find(key(64));
      REQUIRE(kept);
      CHECK(kept->configuration == result.profile->configuration);
      CHECK(kept->kernels.source_hash == family.source("").hash());
      std::set<std::string> measured;
      for (const Measurement& m : temporary.store.measurements(key(64))) measured.insert(m.configuration);
      CHECK(measured.size() == 200);
    }
  }
}

TEST_CASE("however small the budget, the default is tried and a verified profile comes out") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  const TuningResult result = tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = 0}, 64);
  CHECK(result.evaluations() == 1);
  REQUIRE(result.profile);
  CHECK(result.profile->configuration == "kind=good width=1 depth=1");
  CHECK(std::count(evaluator.verified.begin(), evaluator.verified.end(), result.profile->configuration) == 1);
}

TEST_CASE("a named configuration that the problem does not allow is said to be so") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  const TuningResult result = tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = 20}, 6);
  REQUIRE(result.named.size() == 2);
  CHECK(result.named[1].name == "deep");
  CHECK(!result.named[1].time);
  CHECK(result.named[1].status == Status::constraint);
  const auto recorded = temporary.store.measurements(key(6));
  const auto forbidden = std::find_if(recorded.begin(), recorded.end(),
                                      [](const Measurement& m) { return m.status == Status::constraint; });
  REQUIRE(forbidden != recorded.end());
  CHECK(forbidden->message == "depth <= size");
  CHECK(forbidden->times.empty());
}

TEST_CASE("each way to fail is recorded, none ends the run, and the fastest right one wins") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  evaluator.fate = [](const Configuration& c) {
    switch (c.number("width")) {
      case 10:
        return Status::wrong_result;  // all of the fastest
      case 9:
        return Status::compilation;
      case 11:
        return Status::launch;
      case 8:
        return Status::overrun;
      case 12:
        return c.number("depth") == 1 ? Status::illegal_access : Status::correct;
      default:
        return Status::correct;
    }
  };
  const TuningResult result = tune_one(evaluator, temporary.store, {}, 64, {.finalists = 4});
  REQUIRE(result.profile);
  CHECK(result.profile->configuration == "kind=good width=12 depth=4");
  CHECK(result.statuses.at(Status::compilation) == 10);
  CHECK(result.statuses.at(Status::launch) == 10);
  CHECK(result.statuses.at(Status::overrun) == 10);
  CHECK(result.statuses.at(Status::illegal_access) == 1);
  CHECK(result.statuses.at(Status::wrong_result) >= 4);
  std::map<Status, int> recorded;
  for (const Measurement& m : temporary.store.measurements(key(64))) {
    ++recorded[m.status];
    const bool timed = m.status == Status::correct || m.status == Status::unverified;
    CHECK(m.times.empty() != timed);
    if (!timed) CHECK(!m.message.empty());
  }
  CHECK(recorded[Status::correct] == 1);
  CHECK(recorded[Status::wrong_result] == result.statuses.at(Status::wrong_result));
}

TEST_CASE("a winner whose timed run is wrong makes way for the next, and says why") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  const std::string fastest = "kind=good width=10 depth=4";
  evaluator.judge_timed_run = [&](const Configuration& c) {
    if (c.text() != fastest) return Verdict{};
    return Verdict{.status = Status::wrong_result, .worst_error = 0.0, .message = "wrong after a thousand samples"};
  };
  const TuningResult result = tune_one(evaluator, temporary.store, {}, 64);
  REQUIRE(result.profile);
  CHECK(result.profile->configuration != fastest);
  CHECK(result.profile->time < 2.6);
  CHECK(result.statuses.at(Status::wrong_result) == 1);
  for (const Measurement& m : temporary.store.measurements(key(64))) {
    if (m.status == Status::wrong_result) CHECK(m.message == "wrong after a thousand samples");
  }
  // Every winner went through it, and only after the rest of its verification.
  for (const std::string& text : evaluator.timed_runs) {
    CHECK(std::count(evaluator.verified.begin(), evaluator.verified.end(), text) == 1);
  }
}

TEST_CASE("what was pruned against a configuration that turns out wrong may win all the same") {
  for (const bool resumed : {false, true}) {
    CAPTURE(resumed);
    const TemporaryStore temporary;
    const Family family;
    fake::FakeEvaluator evaluator(family);
    // Passes a first look, and is five times as fast as all others: they are pruned.
    const std::string impostor = "kind=good width=2 depth=1";
    const auto cost = evaluator.cost;
    evaluator.cost = [&](const Configuration& c, const Problem& p) { return c.text() == impostor ? 0.4 : cost(c, p); };
    evaluator.wrong_in_the_end = [&](const Configuration& c) { return c.text() == impostor; };
    // Ends before the finals of the others, when the first is known to be wrong.
    bool first_time = true;
    const auto tune = [&] {
      StopCondition stop({}, [&] { return resumed && first_time && !evaluator.verified.empty(); });
      return Tuner(evaluator, temporary.store, {.strategy = "exhaustive"}).tune({fake::problem(64)}, stop);
    };
    auto results = tune();
    if (resumed) {
      CHECK_FALSE(results.front().profile);
      first_time = false;
      results = tune();
    }
    REQUIRE(results.size() == 1);
    REQUIRE(results.front().profile);
    CHECK(results.front().profile->time < 2.5);
    CHECK(std::count(evaluator.looked_at.begin(), evaluator.looked_at.end(), impostor) >= 1);
  }
}

TEST_CASE("if all are wrong there is no profile") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  evaluator.fate = [](const Configuration&) { return Status::wrong_result; };
  evaluator.cost = [](const Configuration&, const Problem&) { return 5.0; };
  const TuningResult result = tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = 40}, 64);
  CHECK(!result.profile);
  CHECK(!result.interrupted);
  CHECK(result.statuses.at(Status::wrong_result) == 40);
  CHECK(!temporary.store.find(key(64)));
}

TEST_CASE("a tie goes to the configuration closest to the default, and the others are recorded") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  evaluator.cost = [](const Configuration& c, const Problem&) {
    const bool fast = c.number("width") == 5 && c.number("depth") < 4;
    return fast ? 3.0 : 6.0;
  };
  const TuningResult result = tune_one(evaluator, temporary.store, {}, 64);
  REQUIRE(result.profile);
  CHECK(result.profile->configuration == "kind=good width=5 depth=1");
  const std::set<std::string> ties(result.profile->ties.begin(), result.profile->ties.end());
  CHECK(ties == std::set<std::string>{"kind=good width=5 depth=2", "kind=good width=5 depth=3"});
}

TEST_CASE("noise never makes a tie of what is twice as slow") {
  const Family family;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family, seed);
    evaluator.cost = [](const Configuration& c, const Problem&) { return c.number("width") == 5 ? 3.0 : 6.0; };
    const TuningResult result = tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = 60}, 64);
    REQUIRE(result.profile);
    CHECK(result.profile->configuration.find("width=5") != std::string::npos);
    for (const std::string& tie : result.profile->ties) CHECK(tie.find("width=5") != std::string::npos);
  }
}

TEST_CASE("what the family takes for likely is tried before a strategy proposes") {
  class Likely final : public Family {
   public:
    std::vector<Configuration> likely_configurations(const DeviceIdentity&, const Problem&) const override {
      return {configuration("good", 9, 7), configuration("good", 11, 3)};
    }
  };
  const TemporaryStore temporary;
  const Likely family;
  fake::FakeEvaluator evaluator(family);
  (void)tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = 30}, 64);
  REQUIRE(evaluator.compiled.size() > 5);
  const auto first = std::span(evaluator.compiled).first(5);  // the default, two named ones, and these
  for (const char* text : {"kind=good width=9 depth=7", "kind=good width=11 depth=3"}) {
    CHECK(std::ranges::find(first, text) != first.end());
  }
}

TEST_CASE("the same seed takes the same path") {
  const Family family;
  std::vector<std::vector<std::string>> paths;
  for (const std::uint64_t seed : {7U, 7U, 8U}) {
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family);
    (void)tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = 30}, 64, {.seed = seed});
    paths.push_back(evaluator.compiled);
  }
  CHECK(paths[0] == paths[1]);
  CHECK(paths[0] != paths[2]);
}

TEST_CASE("through a device: the right kernels win over faster wrong ones") {
  const TemporaryStore temporary;
  const Family family({"good", "wrong", "dirty", "partial", "overrun", "launch", "refused"});
  fake::FakeDevice device;
  DeviceEvaluator evaluator(device, family, 1);
  StopCondition stop;
  const auto results = Tuner(evaluator, temporary.store).tune({fake::problem(9), fake::problem(3)}, stop);
  REQUIRE(results.size() == 2);
  for (const TuningResult& result : results) {
    REQUIRE(result.profile);
    CHECK(result.profile->configuration == "kind=good width=1 depth=1");
    CHECK(result.statuses.at(Status::compilation) == result.statuses.at(Status::launch));
  }
  CHECK(device.compiler_calls() == 7 * 20);
  CHECK(device.state.alive_executions == 0);
}

TEST_CASE("every measurement has its own date, not that of the beginning of its search") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family, 15);
  const std::string begun = evaluator.provenance().date;
  REQUIRE(tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = 12}, 64).profile);
  const auto measurements = temporary.store.measurements(key(64));
  CHECK(measurements.size() >= 12);
  for (const Measurement& measurement : measurements) CHECK(measurement.provenance.date > begun);
}

TEST_CASE("what a kernel takes is recorded with every measurement, its energy with those of the finals") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family, 15);
  evaluator.resources = KernelResources{.registers = 96, .shared_bytes = 4096, .local_bytes = 8, .occupancy = 0.5};
  evaluator.energy = 0.25;
  const TuningResult result =
      tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = 20}, 64, {.energy = true});
  REQUIRE(result.profile);
  CHECK(result.resources == evaluator.resources);
  CHECK(result.energy == 0.25);
  int finals = 0;
  for (const Measurement& measurement : temporary.store.measurements(key(64))) {
    if (measurement.status != Status::correct && measurement.status != Status::unverified) continue;
    CHECK(measurement.resources == evaluator.resources);
    CHECK(measurement.energy.has_value() == (measurement.visit > 0));
    finals += measurement.visit > 0 ? 1 : 0;
  }
  CHECK(finals > 1);

  evaluator.energy.reset();  // a device without a counter
  const TuningResult without =
      tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = 20}, 65, {.energy = true});
  REQUIRE(without.profile);
  CHECK(!without.energy);
}
