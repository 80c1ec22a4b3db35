#include "heddle/tuner/replay/replay_evaluator.hpp"

#include <doctest/doctest.h>

#include "heddle/kernels/error.hpp"
#include "heddle/tuner/replay/record.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/temporary_store.hpp"

using namespace heddle;

namespace {

RecordedSpace conditional() {
  RecordedSpace space;
  space.name = "conditional";
  space.parameters = {"kind", "width"};
  const auto add = [&](std::vector<Configuration::Entry> entries, Status status, double time) {
    space.configurations.emplace_back(std::move(entries));
    RecordedOutcome outcome{.status = status, .time = {}, .times = {}, .compile_seconds = 2.0, .message = "recorded"};
    if (time > 0.0) outcome.time = time;
    space.outcomes.push_back(outcome);
  };
  add({{"kind", std::string("plain")}}, Status::correct, 100.0);
  for (std::int64_t width = 1; width <= 8; ++width) {
    const bool fails = width == 5;
    add({{"kind", std::string("wide")}, {"width", width}}, fails ? Status::compilation : Status::correct,
        fails ? 0.0 : 50.0 + static_cast<double>((width - 6) * (width - 6)) * 10.0);
  }
  return space;
}

}  // namespace

TEST_CASE("a recording is searched like a device, in virtual time") {
  const RecordedFamily family(conditional());
  const auto now = std::make_shared<double>(0.0);
  ReplayEvaluator evaluator(family, now);
  const TemporaryStore temporary;
  for (const StrategyEntry& entry : strategies()) {
    CAPTURE(entry.name);
    ProfileStore store(":memory:", ProfileStore::Access::read_write);
    const double before = *now;
    StopCondition stop({}, {}, [now] { return *now; });
    TunerOptions options;
    options.strategy = entry.name;
    const auto results = Tuner(evaluator, store, options).tune({family.problem()}, stop);
    REQUIRE(results.size() == 1);
    REQUIRE(results.front().profile);
    CHECK(results.front().profile->configuration == "kind=wide width=6");
    CHECK(results.front().profile->time == doctest::Approx(50.0));
    CHECK(results.front().statuses.at(Status::compilation) == 1);
    CHECK(results.front().effort.compiling == doctest::Approx(18.0));
    CHECK(results.front().effort.total == doctest::Approx(*now - before));
    CHECK(*now - before > 18.0);
    CHECK(*now - before < 18.1);
  }
}

TEST_CASE("what was measured can be recorded and comes to the same") {
  const RecordedFamily family(conditional());
  const auto now = std::make_shared<double>(0.0);
  ReplayEvaluator evaluator(family, now);
  ProfileStore store(":memory:", ProfileStore::Access::read_write);
  StopCondition stop({}, {}, [now] { return *now; });
  TunerOptions options;
  options.prune_factor = 1e30;
  (void)Tuner(evaluator, store, options).tune({family.problem()}, stop);
  const ProfileKey key{.device = family.device(), .family = std::string(family.name()), .problem = family.problem()};
  const RecordedSpace again = recorded(store, family, key);
  CHECK(recorded(store, family, key, true).configurations.empty());  // nothing was timed with a cold cache
  REQUIRE(again.configurations.size() == family.recording().configurations.size());
  for (std::size_t i = 0; i < again.configurations.size(); ++i) {
    const RecordedOutcome& outcome = family.outcome(again.configurations[i]);
    CHECK(again.outcomes[i].time.value_or(0.0) == doctest::Approx(outcome.time.value_or(0.0)));
    CHECK(again.outcomes[i].compile_seconds == doctest::Approx(outcome.compile_seconds));
    CHECK((again.outcomes[i].status == Status::compilation) == (outcome.status == Status::compilation));
  }
}

TEST_CASE("a parameter that is there and missing alike is refused") {
  RecordedSpace space = conditional();
  space.configurations.push_back(Configuration({{"kind", std::string("wide")}}));
  space.outcomes.push_back(space.outcomes.front());
  CHECK_THROWS_AS(RecordedFamily{space}, Error);
}
