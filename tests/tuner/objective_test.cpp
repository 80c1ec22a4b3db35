// Searches that make something else small than the time.
#include "heddle/tuner/objective.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "fake_evaluator.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/tuner/remeasure.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/temporary_store.hpp"

namespace heddle {
namespace {

using fake::Family;

TuningResult tune_for(const std::string& objective, fake::FakeEvaluator& evaluator, ProfileStore& store,
                      std::int64_t evaluations = 1000) {
  TunerOptions options;
  options.objective = std::make_shared<const Objective>(objective);
  StopCondition stop({.seconds = {}, .evaluations = evaluations});
  const auto results = Tuner(evaluator, store, options).tune({fake::problem(64)}, stop);
  REQUIRE(results.size() == 1);
  return results.front();
}

ProfileKey key(const std::string& objective = "time") {
  return {.device = fake::identity(), .family = "fake", .problem = fake::problem(64), .goal = Goal::of(objective)};
}

/// Least at a width of 3, where the time is far from its least.
double joules(const Configuration& configuration) {
  return 1.0 + std::abs(static_cast<double>(configuration.number("width")) - 3.0);
}

std::string refusal(const std::string& objective) {
  const Family family;
  try {
    Objective(objective).check(family, fake::identity());
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the value of an objective, and what it may name") {
  const Family family;
  const Configuration configuration = family.default_configuration(fake::identity(), fake::problem(64));
  const Measured measured{
      .time = 4.0,
      .energy = 0.5,
      .resources = KernelResources{.registers = 32, .shared_bytes = 0, .local_bytes = 0, .occupancy = 0.25}};
  const auto value = [&](const std::string& text) {
    return Objective(text).of(family, fake::problem(64), configuration, measured);
  };
  CHECK(value("energy") == 0.5);
  CHECK(value("energy * time") == 2.0);
  CHECK(value("size + registers") == 96.0);
  CHECK(value("1 / occupancy") == 4.0);
  CHECK_THROWS_WITH_AS(value("time - 4"), doctest::Contains("'time - 4' is 0 at size=64 with"), Error);
  CHECK_THROWS_WITH_AS(value("1 / shared_bytes"), doctest::Contains("division by zero"), Error);
  CHECK(Objective("energy / time").needs_energy(family));
  CHECK_FALSE(Objective("time / occupancy").needs_energy(family));

  CHECK(refusal("time * width") == "accepted");
  CHECK(refusal("speed").find("option --objective: 'speed' asks for 'speed', expected a size") == 0);
  CHECK(refusal("time *").find("option --objective: expression 'time *'") == 0);
}

TEST_CASE("a search for the least energy finds it, and keeps it beside the fastest") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family, 15);
  StopCondition all;
  REQUIRE(Tuner(evaluator, temporary.store, {}).tune({fake::problem(64)}, all).front().profile);
  const double fastest = temporary.store.find(key())->time;

  evaluator.energy_of = joules;
  const TuningResult result = tune_for("energy", evaluator, temporary.store);
  REQUIRE(result.profile);
  CHECK(result.profile->configuration.find("width=3") != std::string::npos);
  CHECK(result.energy == 1.0);
  CHECK(result.objective == 1.0);
  CHECK_FALSE(result.statuses.contains(Status::pruned));
  CHECK(result.was_stored);
  CHECK(temporary.store.find(key())->time == fastest);
  REQUIRE(temporary.store.find(key("energy")));
  CHECK(temporary.store.find(key("energy"))->configuration == result.profile->configuration);
  CHECK(temporary.store.find(key("energy"))->time > fastest);
  CHECK(temporary.store.find(key("energy"))->value == 1.0);

  // The dispatcher of a program that asks for nothing else takes the fastest.
  const Dispatcher usual(fake::identity(), family, temporary.store.knowledge());
  const Dispatcher frugal(fake::identity(), family, temporary.store.knowledge("fake", Goal::of("energy")));
  CHECK(usual.choose(fake::problem(64)).configuration.text() == temporary.store.find(key())->configuration);
  CHECK(frugal.choose(fake::problem(64)).configuration.text() == result.profile->configuration);

  // A later search for the time starts from the fastest, and one for the energy from the least.
  StopCondition again;
  REQUIRE(Tuner(evaluator, temporary.store, {}).tune({fake::problem(64)}, again).front().profile);
  CHECK(temporary.store.find(key("energy"))->value == 1.0);
  CHECK(tune_for("energy", evaluator, temporary.store).profile->value == 1.0);
  CHECK(temporary.store.profiles().size() == 2);
}

TEST_CASE("a profile of an objective is verified by its value") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family, 15);
  evaluator.energy_of = joules;
  REQUIRE(tune_for("2 * energy", evaluator, temporary.store).profile);
  Profile profile = *temporary.store.find(key("2 * energy"));
  CHECK(profile.value == 2.0);
  profile.value = 1.0;
  profile.imported = true;
  temporary.store.keep_for_now(profile);
  const Remeasured now = remeasure(evaluator, temporary.store, profile);
  CHECK(now.profile->value == 2.0);
  CHECK_FALSE(now.restored);
  CHECK(temporary.store.find(key("2 * energy"))->value == 2.0);
  CHECK_FALSE(temporary.store.find(key()));
  CHECK(temporary.store.measurements(key()).front().energy == 1.0);
}

TEST_CASE("a search with an objective uses measurements of runs that knew what it needs, and no others") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family, 15);
  evaluator.energy_of = joules;
  StopCondition stop({.seconds = {}, .evaluations = 20});
  static_cast<void>(Tuner(evaluator, temporary.store, {}).tune({fake::problem(64)}, stop));  // no energy
  const TuningResult first = tune_for("energy", evaluator, temporary.store);
  CHECK(first.recalled == 0);
  CHECK(first.evaluations() == 200);
  const int measured = evaluator.energy_measurements;
  const TuningResult second = tune_for("energy * time", evaluator, temporary.store);
  CHECK(second.recalled == 200);
  CHECK(evaluator.energy_measurements - measured < 20);  // of the finalists
  CHECK(*second.objective == doctest::Approx(*second.energy * second.profile->time));
}

TEST_CASE("a run is found again by the objective as it was written, which is how earlier programs noted it") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family, 15);
  TunerOptions options;
  options.objective = std::make_shared<const Objective>("time*energy");
  const std::string task = Tuner(evaluator, temporary.store, options).task({fake::problem(64)});
  CHECK(task.find(" objective time*energy\n") != std::string::npos);
}

TEST_CASE("where an objective has no value the search ends, and what was measured is kept") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family, 15);
  CHECK_THROWS_WITH_AS(tune_for("time - time", evaluator, temporary.store), doctest::Contains("is 0 at size=64"),
                       Error);
  CHECK(temporary.store.measurements(key()).size() == 1);
}

TEST_CASE("where an objective has no value for a slow default, no repetition follows that cannot change it") {
  for (const std::string objective : {"time - time", "1 / registers"}) {
    CAPTURE(objective);
    const TemporaryStore temporary;
    const Family family;
    fake::FakeEvaluator evaluator(family, 15);
    evaluator.on_processor = true;
    evaluator.run_seconds = 4.0;  // of a loaded machine: just within what a pilot run may take
    evaluator.cost = [](const Configuration&, const Problem&) { return 4e6; };
    TunerOptions options;
    options.objective = std::make_shared<const Objective>(objective);
    StopCondition stop({.seconds = 15.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
    CHECK_THROWS_AS(Tuner(evaluator, temporary.store, options).tune({fake::problem(64)}, stop), Error);
    CHECK(evaluator.now == doctest::Approx(12.0));  // pilot run, warm-up, one repetition
    REQUIRE(temporary.store.measurements(key()).size() == 1);
    CHECK(temporary.store.measurements(key()).front().times.size() == 1);
  }
}

TEST_CASE("a slow default is measured once where the budget is used up") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family, 15);
  evaluator.on_processor = true;
  evaluator.run_seconds = 4.0;
  evaluator.cost = [](const Configuration&, const Problem&) { return 4e6; };
  StopCondition stop({.seconds = 10.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
  const auto results = Tuner(evaluator, temporary.store, {}).tune({fake::problem(64)}, stop);
  REQUIRE(results.size() == 1);
  CHECK(results.front().profile);
  CHECK(temporary.store.measurements(key()).back().times.size() == 1);  // its screening
}

TEST_CASE("a device without a counter of energy is told once, and what was measured stays") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family, 15);
  CHECK_THROWS_WITH_AS(tune_for("energy", evaluator, temporary.store), doctest::Contains("no counter of energy"),
                       Error);
  CHECK_FALSE(temporary.store.find(key()));
}

}  // namespace heddle
