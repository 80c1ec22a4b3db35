// Configurations that take more or fewer threads of a processor that other programs use.
#include <doctest/doctest.h>

#include <string>

#include "fake_evaluator.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/one_search.hpp"

using namespace heddle;

namespace {

using fake::Family;
using fake::tune_one;

/// A family for the machine's own processor; the depth of a configuration is its number of threads.
class Threaded final : public Family {
 public:
  using Family::Family;
  std::int64_t host_threads(const Configuration& configuration, const DeviceIdentity&) const override {
    return configuration.number("depth");
  }
  Configuration default_configuration(const DeviceIdentity&, const Problem&) const override {
    return configuration("good", 1, threads_by_default);
  }
  std::int64_t threads_by_default = 1;
};

/// What is chosen where two threads take `gain` times less than one on a quiet machine and `loss` times more on a busy
/// one.
struct Choice {
  Threaded family;
  TemporaryStore temporary;
  fake::FakeEvaluator evaluator{family};

  Choice(double gain, double loss) {
    evaluator.on_processor = true;
    evaluator.noise = 0.004;
    evaluator.cost = [gain](const Configuration& c, const Problem&) {
      const double width = 10.0 + static_cast<double>(c.number("width"));
      return c.number("depth") == 1 ? gain * width : c.number("depth") == 2 ? width : 3.0 * gain * width;
    };
    evaluator.busy_core_cost = [loss](const Configuration& c) { return c.number("depth") == 1 ? 20.0 : 20.0 * loss; };
  }
  TuningResult result(std::int64_t evaluations = 200) {
    TuningResult found = tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = evaluations}, 64);
    REQUIRE(found.profile);
    return found;
  }
  std::string configuration(std::int64_t evaluations = 200) { return result(evaluations).profile->configuration; }
};

const std::string kOneThread = "kind=good width=1 depth=1", kTwoThreads = "kind=good width=1 depth=2";

}  // namespace

TEST_CASE("more threads win if they gain more on a quiet machine than they lose on a busy one") {
  CHECK(Choice(1.6, 1.2).configuration() == kTwoThreads);
  CHECK(Choice(1.6, 0.8).configuration() == kTwoThreads);
  CHECK(Choice(1.25, 1.35).configuration() == kTwoThreads);  // a quiet machine is more frequent
  CHECK(Choice(1.3, 1.5).configuration() == kOneThread);
  CHECK(Choice(1.05, 1.2).configuration() == kOneThread);
  CHECK(Choice(1.8, 1.7).configuration() == kOneThread);  // more than may be lost at all
  CHECK(Choice(0.8, 0.5).configuration() == kOneThread);  // nothing is gained
}

TEST_CASE("a default that was faster alone and yields to fewer threads says so") {
  Choice choice(1.3, 1.5);
  choice.family.threads_by_default = 2;
  const TuningResult result = choice.result();
  CHECK(result.profile->configuration == kOneThread);
  CHECK(*result.untuned.time < result.profile->time);
  CHECK(result.untuned.yields_to_fewer_threads);
  Choice other(1.6, 1.2);
  other.family.threads_by_default = 2;
  CHECK_FALSE(other.result().untuned.yields_to_fewer_threads);
}

TEST_CASE("a team that meets the busy core for a few turns is judged by its usual time") {
  Choice choice(1.4, 1.1);
  choice.evaluator.busy_core_cost = [&](const Configuration& c) {
    if (c.number("depth") == 1) return 20.0;
    return choice.evaluator.busy_core_measurements % 5 == 0 ? 400.0 : 22.0;
  };
  CHECK(choice.configuration() == kTwoThreads);
}

TEST_CASE("of configurations that are as fast the one with fewer threads wins, without another look") {
  Choice choice(1.0, 0.5);
  CHECK(choice.configuration() == kOneThread);
  CHECK(choice.evaluator.busy_core_measurements == 0);
}

TEST_CASE("where programs do not share the units, nothing is measured but the time") {
  Choice choice(1.05, 2.0);
  choice.evaluator.busy_core_cost = {};
  CHECK(choice.configuration() == kTwoThreads);
}

TEST_CASE("fewer threads are measured even if the search never tried them, and have to be right") {
  Choice choice(1.3, 1.5);
  const auto wide = [](const Configuration& c) { return c.number("depth") == 1 && c.number("width") < 20; };
  choice.evaluator.fate = [&](const Configuration& c) { return wide(c) ? Status::wrong_result : Status::correct; };
  CHECK(choice.configuration() == kTwoThreads);
}

TEST_CASE("a run that goes on knows which configuration made way, and does not measure it again") {
  Choice choice(1.3, 1.5);
  bool stop_now = false;
  const auto tune = [&] {
    StopCondition stop({.seconds = {}, .evaluations = 400}, [&] { return stop_now; });
    const TunerCallbacks callbacks{.progress = {},
                                   .result = [&](const TuningResult&) { stop_now = true; },
                                   .expected_loss = {},
                                   .model = {},
                                   .single_mapping = {}};
    return Tuner(choice.evaluator, choice.temporary.store, {}, callbacks)
        .tune({fake::problem(64), fake::problem(32)}, stop);
  };
  const auto first = tune();  // interrupted after the first problem
  REQUIRE(first.front().profile);
  CHECK(first.front().profile->configuration == kOneThread);
  const int measured = choice.evaluator.busy_core_measurements;
  CHECK(measured > 0);
  stop_now = false;
  const auto again = tune();
  REQUIRE(again.front().profile);
  CHECK(again.front().profile->configuration == kOneThread);
  CHECK(choice.evaluator.busy_core_measurements == measured);
}
