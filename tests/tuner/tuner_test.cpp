#include "heddle/tuner/tuner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "fake_device.hpp"
#include "fake_evaluator.hpp"
#include "heddle/tuner/coverage.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "tuner/temporary_store.hpp"

using namespace heddle;

namespace {

using fake::Family;

TuningResult tune_one(fake::FakeEvaluator& evaluator, ProfileStore& store, const Budget& budget, std::int64_t size,
                      TunerOptions options = {}) {
  StopCondition stop(budget);
  const auto results = Tuner(evaluator, store, std::move(options)).tune({fake::problem(size)}, stop);
  REQUIRE(results.size() == 1);
  return results.front();
}

ProfileKey key(std::int64_t size) {
  return {.device = fake::identity(), .family = "fake", .problem = fake::problem(size)};
}

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

namespace {

/// With a wait that is chosen last: 5 is a tenth faster than the usual 3, for the widths from 8 on.
class WaitingFamily final : public Family {
 public:
  SearchSpace space(const DeviceIdentity& device) const override {
    const SearchSpace plain = Family::space(device);
    std::vector<Parameter> parameters = plain.parameters();
    parameters.push_back({.name = "wait",
                          .values = {std::int64_t{3}, std::int64_t{1}, std::int64_t{5}},
                          .meaning = "",
                          .active = [](const Configuration& c) { return c.number("width") >= 8; },
                          .chosen_last = true});
    return {device, std::move(parameters), plain.constraints()};
  }
};

std::set<std::string> waits_measured(const ProfileStore& store, std::int64_t size) {
  std::set<std::string> texts;
  for (const Measurement& m : store.measurements(key(size))) {
    if (m.configuration.find("wait=") != std::string::npos) texts.insert(m.configuration);
  }
  return texts;
}

}  // namespace

TEST_CASE("what is chosen last is tried for the fastest alone, where the search has the time, and carried on") {
  const WaitingFamily family;
  const auto with_wait = [&](fake::FakeEvaluator& evaluator) {
    evaluator.cost = [plain = evaluator.cost](const Configuration& c, const Problem& p) {
      const double factor = !c.has("wait") ? 1.0 : c.number("wait") == 5 ? 0.9 : 1.2;
      return factor * plain(c, p);
    };
  };
  for (const StrategyEntry& entry : strategies()) {
    CAPTURE(entry.name);
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family);
    with_wait(evaluator);
    const TunerOptions options{.strategy = std::string(entry.name)};
    const TuningResult result = tune_one(evaluator, temporary.store, {}, 64, options);
    REQUIRE(result.profile);
    CHECK(result.profile->configuration == "kind=good width=10 depth=4 wait=5");
    CHECK(result.valid == 200);
    CHECK(waits_measured(temporary.store, 64) ==
          std::set<std::string>{"kind=good width=10 depth=4 wait=1", "kind=good width=10 depth=4 wait=5"});
    // A run that goes on knows it, and another problem is offered it.
    fake::FakeEvaluator again(family);
    with_wait(again);
    StopCondition stop;
    const auto more = Tuner(again, temporary.store, options).tune({fake::problem(64), fake::problem(128)}, stop);
    REQUIRE(more.size() == 2);
    for (const TuningResult& each : more) {
      const bool first = each.problem == fake::problem(64);
      REQUIRE(each.profile);
      CHECK(each.profile->configuration == (first ? "kind=good width=10 depth=4 wait=5"  //
                                                  : "kind=good width=11 depth=4 wait=5"));
    }
  }
  const TemporaryStore temporary;
  fake::FakeEvaluator hurried(family);
  with_wait(hurried);
  const TuningResult few = tune_one(hurried, temporary.store, {.seconds = {}, .evaluations = 7}, 64);
  REQUIRE(few.profile);
  CHECK(waits_measured(temporary.store, 64).empty());
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

TEST_CASE("a grid shares out its budget, and winners are tried on the problems after them") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  std::vector<Problem> problems;
  for (const std::int64_t size : {16, 32, 64, 128, 256}) problems.push_back(fake::problem(size));
  std::vector<std::int64_t> all;
  double fraction = 0.0;
  std::size_t told = 0;
  TunerCallbacks callbacks;
  callbacks.progress = [&](const TuningProgress& progress) {
    all.push_back(progress.all_evaluations);
    CHECK(progress.problems == problems.size());
    CHECK(std::count(problems.begin(), problems.end(), *progress.problem) == 1);
    CHECK(progress.fraction >= fraction);
    CHECK(progress.fraction <= 1.0);
    fraction = progress.fraction;
  };
  callbacks.result = [&](const TuningResult&) { ++told; };
  std::optional<double> expected_loss;
  callbacks.expected_loss = [&](double loss) { expected_loss = loss; };
  StopCondition stop({.seconds = {}, .evaluations = 300});
  const auto results = Tuner(evaluator, temporary.store, {}, callbacks).tune(problems, stop);
  REQUIRE(results.size() == problems.size());
  CHECK(told == problems.size());
  CHECK(results[0].problem == fake::problem(64));  // the middle of the range
  std::set<Problem> visited;
  CHECK(std::is_sorted(all.begin(), all.end()));
  std::int64_t evaluations = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    REQUIRE(results[i].profile);
    visited.insert(results[i].problem);
    CHECK(results[i].evaluations() > 30);
    evaluations += results[i].evaluations();
    if (i > 0) CHECK(evaluator.prepared[results[i - 1].profile->configuration] > 0);
  }
  CHECK(visited.size() == problems.size());
  REQUIRE(expected_loss);
  CHECK(*expected_loss > 0.0);
  CHECK(*expected_loss < 0.2);
  CHECK(evaluations == all.back());
  CHECK(evaluations <= 310);
}

TEST_CASE("with time left sizes between the problems get profiles too, once") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  evaluator.compile_seconds = 0.01;
  evaluator.run_seconds = 0.001;
  const std::vector<Problem> problems{fake::problem(16), fake::problem(64), fake::problem(256)};
  for (const bool again : {false, true}) {
    CAPTURE(again);
    StopCondition stop({.seconds = 60.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
    const auto results = Tuner(evaluator, temporary.store, {.tune_sizes_between = true}).tune(problems, stop);
    std::set<Problem> asked, between;
    for (const TuningResult& result : results) {
      REQUIRE(result.profile);
      (result.is_between ? between : asked).insert(result.problem);
    }
    CHECK(asked == std::set<Problem>(problems.begin(), problems.end()));
    const std::vector<Problem> within = within_cells(problems, family.axes());
    CHECK(within.size() == 2);
    CHECK(between == (again ? std::set<Problem>{} : std::set<Problem>(within.begin(), within.end())));
    CHECK(temporary.store.profiles().size() == 5);
  }
}

TEST_CASE("a run too short to meet the profile that is there leaves it in its place") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  const TuningResult whole = tune_one(evaluator, temporary.store, {}, 64, {.seed = 4});
  REQUIRE(whole.profile);
  for (const std::int64_t evaluations : {0, 1, 5}) {
    CAPTURE(evaluations);
    const TuningResult brief =
        tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = evaluations}, 64, {.seed = 5});
    REQUIRE(brief.profile);
    if (evaluations == 0) {
      CHECK(brief.profile->time > 2.0 * whole.profile->time);
      CHECK(!brief.was_stored);
    }
    const auto kept = temporary.store.find(key(64));
    REQUIRE(kept);
    CHECK(kept->configuration == whole.profile->configuration);
  }
}

TEST_CASE("the compiler is kept at work, and what it was asked for is tried, with few threads and with many") {
  const Family family;
  std::vector<Problem> problems;
  for (std::int64_t size = 16; size < 56; ++size) problems.push_back(fake::problem(size));
  for (const std::size_t threads : {2U, 4U, 16U}) {
    const double budget = 800.0 / static_cast<double>(threads);  // 25 kernels for each problem
    CAPTURE(threads);
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family);
    evaluator.threads = threads;
    evaluator.compile_seconds = 0.8;
    evaluator.run_seconds = 0.002;
    StopCondition stop({.seconds = budget, .evaluations = {}}, {}, [&] { return evaluator.now; });
    const auto results = Tuner(evaluator, temporary.store, {}).tune(problems, stop);
    CHECK(results.size() == problems.size());
    std::int64_t tried = 0;
    for (const TuningResult& result : results) tried += result.evaluations();
    const auto compiled = static_cast<double>(evaluator.compiled.size());
    CHECK(static_cast<double>(tried) >= 0.9 * compiled);
    CHECK(compiled * evaluator.compile_seconds >= 0.6 * static_cast<double>(threads) * evaluator.now);
    CHECK(evaluator.now <= 1.05 * budget);
  }
}

TEST_CASE("what wins late is tried on the problems before") {
  const Family family;
  std::string fast;  // what the small problem's search comes across and the large one's does not
  for (const bool planted : {false, true}) {
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family);
    evaluator.on_processor = true;  // one problem after the other
    evaluator.cost = [&](const Configuration& c, const Problem&) { return c.text() == fast ? 1.0 : 5.0; };
    double now = 0.0;
    std::vector<std::string> told;
    TunerCallbacks callbacks;
    callbacks.progress = [&](const TuningProgress&) { now += 1.0; };
    callbacks.result = [&](const TuningResult& result) {
      told.push_back(result.problem.text() + (result.winner_changed ? " improved" : ""));
    };
    StopCondition stop({.seconds = 60.0, .evaluations = {}}, {}, [&] { return now; });
    const auto results =
        Tuner(evaluator, temporary.store, {}, callbacks).tune({fake::problem(64), fake::problem(2)}, stop);
    REQUIRE(results.size() == 2);
    if (!planted) {
      std::set<std::string> large;
      for (const Measurement& m : temporary.store.measurements(key(64))) large.insert(m.configuration);
      for (const Measurement& m : temporary.store.measurements(key(2))) {
        if (!large.contains(m.configuration)) fast = m.configuration;
      }
      REQUIRE(!fast.empty());
      continue;
    }
    CHECK(told == std::vector<std::string>{"size=64", "size=2", "size=64 improved"});
    CHECK(results[0].winner_changed);
    CHECK(results[0].searched);
    CHECK(results[0].profile->configuration == fast);
    CHECK(results[1].profile->configuration == fast);
    CHECK(temporary.store.find(key(64))->configuration == fast);
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

TEST_CASE("an interruption keeps what was measured and makes no unverified profile") {
  const Family family;
  for (const std::int64_t after : {0, 1, 2, 5, 60, 199, 200}) {
    CAPTURE(after);
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family);
    std::int64_t evaluations = 0;
    StopCondition stop({}, [&] { return evaluations >= after; });
    TunerCallbacks callbacks;
    callbacks.progress = [&](const TuningProgress& progress) { evaluations = progress.all_evaluations; };
    const auto results =
        Tuner(evaluator, temporary.store, {}, callbacks).tune({fake::problem(64), fake::problem(32)}, stop);
    CHECK(results.size() == (after == 0 ? 1 : 2));
    std::int64_t kept = 0;
    for (const TuningResult& result : results) {
      CHECK(result.interrupted);
      CHECK(!result.profile);
      CHECK(!temporary.store.find(key(result.problem.at("size"))));
      kept += static_cast<std::int64_t>(temporary.store.measurements(key(result.problem.at("size"))).size());
    }
    CHECK(kept == after);
  }
}

TEST_CASE("a dead device ends the run with one line, keeps all, and the next run leaves the culprit out") {
  const TemporaryStore temporary;
  const Family family;
  const std::string culprit = "kind=good width=7 depth=7";
  fake::FakeEvaluator evaluator(family);
  evaluator.fate = [&](const Configuration& c) {
    return c.text() == culprit ? Status::illegal_access : Status::correct;
  };
  evaluator.dies_for_good = true;
  StopCondition stop;
  const std::vector<Problem> problems{fake::problem(64)};
  CHECK_THROWS_AS((void)Tuner(evaluator, temporary.store).tune(problems, stop), Error);
  const auto measured = temporary.store.measurements(key(64));
  CHECK(!measured.empty());
  CHECK(std::count_if(measured.begin(), measured.end(),
                      [](const Measurement& m) { return m.status == Status::illegal_access; }) == 1);
  CHECK(measured.front().configuration == culprit);
  CHECK(!temporary.store.find(key(64)));

  fake::FakeEvaluator again(family);
  again.fate = evaluator.fate;
  again.dies_for_good = true;
  const auto results = Tuner(again, temporary.store).tune(problems, stop);
  REQUIRE(results.size() == 1);
  CHECK(results[0].profile);
  CHECK(again.prepared.count(culprit) == 0);
}

TEST_CASE("stale profiles are measured again first, also where nobody asked for the problem") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  Profile stale = *tune_one(evaluator, temporary.store, {}, 64).profile;
  stale.kernels.source_hash = "0123456789abcdef0123456789abcdef";
  stale.time *= 0.9;  // a figure nobody can reach any more
  temporary.store.keep(stale);
  Profile gone = stale;
  gone.key = key(128);
  gone.configuration = "kind=removed width=1 depth=1";
  temporary.store.keep(gone);

  StopCondition stop;
  fake::FakeEvaluator again(family);
  const auto results = Tuner(again, temporary.store).tune({fake::problem(16), fake::problem(64)}, stop);
  REQUIRE(results.size() == 3);
  for (const TuningResult& result : results) {
    REQUIRE(result.profile);
    CHECK(result.was_stored);
    CHECK(result.searched == (result.problem != fake::problem(64)));  // of 128 another one than before wins
    if (!result.searched) CHECK(result.evaluations() < 12);
  }
  CHECK(results[2].problem == fake::problem(16));
  const auto refreshed = temporary.store.find(key(64));
  CHECK(refreshed->configuration == stale.configuration);
  CHECK(refreshed->kernels.source_hash == family.source("").hash());
  CHECK(refreshed->time > 1.0);
  CHECK(temporary.store.find(key(128))->configuration != gone.configuration);
}

TEST_CASE("another driver: a handful of measurements for each profile, and a search only where the ranking moved") {
  const TemporaryStore temporary;
  const Family family;
  const std::vector<Problem> problems{fake::problem(16), fake::problem(64)};
  {
    fake::FakeEvaluator evaluator(family);
    StopCondition stop;
    for (const TuningResult& result : Tuner(evaluator, temporary.store).tune(problems, stop)) {
      REQUIRE(result.profile);
      CHECK(result.change.empty());
    }
  }
  const std::string before = temporary.store.find(key(64))->configuration;
  fake::FakeEvaluator evaluator(family);
  evaluator.driver = "newer";
  const auto formula = evaluator.cost;
  evaluator.cost = [&](const Configuration& c, const Problem& p) {  // what won for 64 has become slow
    return formula(c, p) * (p.at("size") == 64 && c.number("width") > 8 && c.number("width") < 13 ? 3.0 : 1.0);
  };
  StopCondition stop;
  const auto results = Tuner(evaluator, temporary.store).tune(problems, stop);
  REQUIRE(results.size() == 2);
  for (const TuningResult& result : results) {
    REQUIRE(result.profile);
    CHECK(result.was_stored);
    CHECK(result.change == "the driver was fake, now newer");
    CHECK(result.profile->provenance.driver == "newer");
    const bool moved = result.problem == fake::problem(64);
    CHECK(result.searched == moved);
    CHECK((result.evaluations() > 100) == moved);
    if (!moved) CHECK(result.evaluations() < 16);
  }
  CHECK(temporary.store.find(key(64))->configuration != before);
  CHECK(temporary.store.find(key(64))->configuration == "kind=good width=8 depth=4");

  fake::FakeEvaluator same(family);
  same.driver = "newer";
  StopCondition again({.seconds = {}, .evaluations = 10});
  for (const TuningResult& result : Tuner(same, temporary.store).tune(problems, again)) CHECK(result.change.empty());
}

TEST_CASE("a better profile that another process stored meanwhile stays") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  Profile theirs;
  theirs.key = key(64);
  theirs.kernels.source_hash = family.source("").hash();
  theirs.configuration = "kind=good width=20 depth=10";
  theirs.time = 0.5;
  theirs.samples = 64;
  bool stored = false;
  TunerCallbacks callbacks;
  callbacks.progress = [&](const TuningProgress& progress) {
    if (progress.all_evaluations < 20 || stored) return;
    ProfileStore other(temporary.file(), ProfileStore::Access::read_write);
    other.keep(theirs);
    stored = true;
  };
  StopCondition stop;
  const auto results = Tuner(evaluator, temporary.store, {}, callbacks).tune({fake::problem(64)}, stop);
  CHECK(results.at(0).profile);
  CHECK(!results.at(0).was_stored);
  CHECK(temporary.store.find(key(64))->configuration == theirs.configuration);
}

TEST_CASE("the present profile takes part, and a search replaces it by what is faster now") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family);
  Profile lucky;
  lucky.key = key(64);
  lucky.kernels.source_hash = family.source("").hash();
  lucky.configuration = "kind=good width=20 depth=10";
  lucky.time = 0.5;  // a figure nobody can reach any more
  lucky.samples = 64;
  lucky.imported = true;
  temporary.store.keep(lucky);
  const TuningResult result = tune_one(evaluator, temporary.store, {}, 64);
  CHECK(result.was_stored);
  CHECK(evaluator.prepared[lucky.configuration] > 0);
  CHECK(temporary.store.find(key(64))->configuration == "kind=good width=10 depth=4");
  CHECK(!temporary.store.find(key(64))->imported);
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

TEST_CASE("an evaluator that ends any wait because somebody asked to stop: what was measured is kept") {
  int most = 1000;
  for (int calls = 0; calls <= most; ++calls) {
    CAPTURE(calls);
    const TemporaryStore temporary;
    const Family family;
    fake::FakeEvaluator evaluator(family, 1);
    evaluator.on_processor = calls % 2 == 0;
    int left = calls;
    bool asked = false;
    evaluator.waits = [&] {
      asked = asked || left-- == 0;
      if (asked) throw Interrupted();
    };
    StopCondition stop({.seconds = {}, .evaluations = 20}, [&] { return asked; });
    Tuner tuner(evaluator, temporary.store, {.seed = 1});
    std::vector<TuningResult> results;
    try {
      results = tuner.tune({fake::problem(8), fake::problem(64)}, stop);
    } catch (const Interrupted&) {  // before the run had begun
      CHECK(temporary.store.measurements().empty());
    }
    std::int64_t evaluations = 0;
    for (const TuningResult& result : results) {
      evaluations += result.evaluations();
      CHECK(result.profile.has_value() == !result.interrupted);
    }
    CHECK(static_cast<std::int64_t>(temporary.store.measurements().size()) >= evaluations);
    if (!asked) most = calls;  // it came to the end
  }
  CHECK(most < 1000);
}

namespace {

/// Its work grows with the square of the size.
class SquareFamily final : public Family {
 public:
  Work work(const Problem& problem) const override {
    const auto size = static_cast<double>(problem.at("size"));
    return {.bytes = size, .operations = size * size};
  }
};

}  // namespace

TEST_CASE("a problem whose untuned default takes too long for the budget does not take it from the others") {
  const TemporaryStore temporary;
  const SquareFamily family;
  fake::FakeEvaluator evaluator(family, 1);
  evaluator.on_processor = true;
  evaluator.more_run_seconds = [](const Problem& problem) {
    return 1e-5 * static_cast<double>(problem.at("size") * problem.at("size"));
  };
  std::vector<Problem> problems;
  for (const std::int64_t size : {8, 32, 4096, 8192, 16384}) problems.push_back(fake::problem(size));
  StopCondition stop({.seconds = 60.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
  std::map<std::int64_t, TuningResult> results;
  for (TuningResult& result : Tuner(evaluator, temporary.store, {}).tune(problems, stop)) {
    const std::int64_t size = result.problem.at("size");
    results.emplace(size, std::move(result));
  }
  for (const std::int64_t size : {8, 32}) {
    REQUIRE(results.contains(size));
    CHECK(results.at(size).profile);
    CHECK(!results.at(size).out_of_time);
  }
  for (const std::int64_t size : {4096, 8192, 16384}) {  // 168 s and more
    if (!results.contains(size)) continue;
    CHECK(!results.at(size).profile);
    CHECK(results.at(size).out_of_time >= 5.0);
  }
  CHECK(evaluator.now < 75.0);
  for (const Measurement& measurement : temporary.store.measurements()) {
    CHECK(measurement.key.problem.at("size") <= 32);  // it is nobody's failure
  }
}

TEST_CASE("a budget that is too short for any problem is used for few of them") {
  const TemporaryStore temporary;
  const SquareFamily family;
  fake::FakeEvaluator evaluator(family, 1);
  evaluator.run_seconds = 1000.0;
  std::vector<Problem> problems;
  for (std::int64_t size = 8; size <= 8192; size *= 2) problems.push_back(fake::problem(size));
  StopCondition stop({.seconds = 16.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
  const auto results = Tuner(evaluator, temporary.store, {}).tune(problems, stop);
  CHECK(!results.empty());
  CHECK(results.size() <= 4);
  for (const TuningResult& result : results) CHECK(result.out_of_time);
  CHECK(evaluator.now < 25.0);
}

TEST_CASE("finals of a kernel that takes seconds end with the budget") {
  const TemporaryStore temporary;
  const Family family;
  fake::FakeEvaluator evaluator(family, 1);
  evaluator.on_processor = true;
  evaluator.run_seconds = 2.0;
  evaluator.cost = [](const Configuration&, const Problem&) { return 2e6 / 32; };
  StopCondition stop({.seconds = 16.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
  const auto results = Tuner(evaluator, temporary.store, {}).tune({fake::problem(8)}, stop);
  REQUIRE(results.size() == 1);
  CHECK(results[0].profile);
  CHECK(evaluator.now < 32.0);
}

namespace {

/// A family for the machine's own processor; the depth of a configuration is its number of threads.
class Threaded final : public Family {
 public:
  using Family::Family;
  std::int64_t host_threads(const Configuration& configuration, const DeviceIdentity&) const override {
    return configuration.number("depth");
  }
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
  std::string configuration(std::int64_t evaluations = 200) {
    const TuningResult result = tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = evaluations}, 64);
    REQUIRE(result.profile);
    return result.profile->configuration;
  }
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

TEST_CASE("while the default is compiled, so are the first proposals, if nothing else is known") {
  class Unnamed : public Family {
   public:
    std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override { return {}; }
  };
  const TemporaryStore temporary;
  const Unnamed family;
  fake::FakeEvaluator evaluator(family, 15);
  evaluator.compile_seconds = 1.0;
  std::size_t compiled_first = 0;
  evaluator.cost = [&](const Configuration& configuration, const Problem&) {
    if (compiled_first == 0) compiled_first = evaluator.compiled.size();
    return 2.0 + std::abs(static_cast<double>(configuration.number("width")) - 10.0);
  };
  const TuningResult result = tune_one(evaluator, temporary.store, {.seconds = {}, .evaluations = 40}, 64);
  REQUIRE(result.profile);
  CHECK(compiled_first > 8);
  CHECK(result.evaluations() == 40);
  std::set<std::string> screened;
  for (const Measurement& each : temporary.store.measurements(key(64))) screened.insert(each.configuration);
  CHECK(screened.size() == 40);
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
