// Parameters that are chosen last: tried for the fastest configurations alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "fake_evaluator.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/one_search.hpp"

using namespace heddle;

namespace {

using fake::Family;
using fake::key;
using fake::tune_one;

/// With a wait that is chosen last: 5 is a tenth faster than the usual 3, for the widths from 8 on.
class WaitingFamily final : public Family {
 public:
  explicit WaitingFamily(std::vector<std::int64_t> waits = {3, 1, 5}) : waits_(waits.begin(), waits.end()) {}
  SearchSpace space(const DeviceIdentity& device) const override {
    const SearchSpace plain = Family::space(device);
    std::vector<Parameter> parameters = plain.parameters();
    parameters.push_back({.name = "wait",
                          .values = waits_,
                          .meaning = "",
                          .active = [](const Configuration& c) { return c.number("width") >= 8; },
                          .chosen_last = true});
    return {device, std::move(parameters), plain.constraints()};
  }

 private:
  std::vector<Value> waits_;
};

void with_wait(fake::FakeEvaluator& evaluator) {
  evaluator.cost = [plain = evaluator.cost](const Configuration& c, const Problem& p) {
    const double factor = !c.has("wait") ? 1.0 : c.number("wait") == 5 ? 0.9 : 1.2;
    return factor * plain(c, p);
  };
}

std::set<std::string> waits_measured(const ProfileStore& store, std::int64_t size) {
  std::set<std::string> texts;
  for (const Measurement& m : store.measurements(key(size))) {
    if (m.configuration.find("wait=") != std::string::npos) texts.insert(m.configuration);
  }
  return texts;
}

}  // namespace

TEST_CASE(
    "a few problems of a run find out what is worth choosing last, and others that have little time try that alone") {
  const WaitingFamily family({3, 1, 5, 7, 9, 11});
  const TemporaryStore temporary;
  fake::FakeEvaluator evaluator(family);
  with_wait(evaluator);
  std::vector<Problem> problems;
  for (std::int64_t size = 64; size <= 128; size += 8) problems.push_back(fake::problem(size));
  StopCondition stop;
  // So impatient that a search ends before it has tried twenty, after which each would try all values.
  const auto results = Tuner(evaluator, temporary.store, {.strategy = "random", .patience = 2}).tune(problems, stop);
  REQUIRE(results.size() == problems.size());
  std::size_t found_out = 0, told = 0;
  for (const TuningResult& each : results) {
    REQUIRE(each.profile);
    const std::set<std::string> waits = waits_measured(temporary.store, each.problem.at("size"));
    CAPTURE(each.problem.text());
    const bool all = std::ranges::any_of(waits, [](const std::string& text) { return text.ends_with("wait=1"); });
    (all ? found_out : told) += waits.empty() ? 0 : 1;
    if (!waits.empty()) CHECK(each.profile->configuration.ends_with("wait=5"));
  }
  CHECK(found_out == 3);
  CHECK(told >= 4);
}

TEST_CASE("what is slower than the fastest is tried with what is chosen last where that makes it the fastest") {
  const WaitingFamily family({3, 1, 5, 7, 9, 11});
  const TemporaryStore temporary;
  fake::FakeEvaluator evaluator(family);
  // Small problems are faster with narrow ones, which have no wait, than with wide ones that wait as usual. Each
  // problem has a width of its own, so that the winners of others do not help.
  const auto best_width = [](const Problem& p) { return 8 + p.at("size") / 4 % 12; };
  evaluator.cost = [&](const Configuration& c, const Problem& p) {
    const std::int64_t width = c.number("width");
    const double narrow = p.at("size") < 100 ? 1.0 : 1.6;
    const double usual = width >= 8 ? 1.05 + 0.3 * static_cast<double>(std::abs(width - best_width(p))) : narrow;
    const double wait = !c.has("wait") ? 1.0 : c.number("wait") == 5 ? 0.85 : 1.2;
    return usual * wait * (1.0 + 0.001 * static_cast<double>(c.number("depth")));
  };
  std::vector<Problem> problems;
  for (std::int64_t size = 64; size < 112; size += 4) problems.push_back(fake::problem(size));
  StopCondition stop;
  const auto results = Tuner(evaluator, temporary.store, {.strategy = "random"}).tune(problems, stop);
  REQUIRE(results.size() == problems.size());
  std::size_t tried = 0;
  for (const TuningResult& each : results) {
    CAPTURE(each.problem.text());
    REQUIRE(each.profile);
    const std::string width = "width=" + std::to_string(best_width(each.problem)) + ' ';
    const auto measurements = temporary.store.measurements(key(each.problem.at("size")));
    const bool knows = std::ranges::any_of(
        measurements, [&](const Measurement& m) { return m.configuration.find(width) != std::string::npos; });
    if (!knows || each.problem.at("size") >= 100) continue;
    ++tried;
    CHECK(each.profile->configuration.find(width) != std::string::npos);
    CHECK(each.profile->configuration.ends_with("wait=5"));
  }
  CHECK(tried >= 3);
}

TEST_CASE("in a run that is so short that no search tries much, what is chosen last is found out all the same") {
  const WaitingFamily family({3, 1, 5, 7, 9, 11, 13, 15, 17});
  const TemporaryStore temporary;
  fake::FakeEvaluator evaluator(family);
  with_wait(evaluator);
  evaluator.threads = 16;
  evaluator.compile_seconds = 0.6;
  evaluator.run_seconds = 0.002;
  std::vector<Problem> problems;
  for (std::int64_t size = 64; size < 124; ++size) problems.push_back(fake::problem(size));
  StopCondition stop({.seconds = 40.0, .evaluations = {}}, {}, [&] { return evaluator.now; });
  const auto results = Tuner(evaluator, temporary.store, {}).tune(problems, stop);
  REQUIRE(results.size() == problems.size());
  std::size_t with_it = 0;
  for (const TuningResult& each : results) {
    REQUIRE(each.profile);
    CHECK(each.evaluations() < 32);  // four for each other value
    with_it += each.profile->configuration.ends_with("wait=5") ? 1 : 0;
  }
  CHECK(with_it == problems.size());  // also where a search ended before somebody knew
  CHECK(evaluator.now < 42.0);
}

TEST_CASE("what is chosen last is tried for the fastest alone, where the search has the time, and carried on") {
  const WaitingFamily family;
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
