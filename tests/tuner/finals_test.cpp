#include "heddle/tuner/finals.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "fake_evaluator.hpp"

using namespace heddle;

namespace {

struct Race {
  fake::Family family;
  fake::FakeEvaluator evaluator{family};
  std::vector<Configuration> configurations;
  std::vector<Finalist> finalists;
  int rounds = 0;

  void enter(std::int64_t width) {
    finalists.emplace_back().configuration = configurations.size();
    configurations.push_back(fake::Family::configuration("good", width, 1));
  }
  void run(const FinalsLimits& limits = {}) {
    run_finals(
        finalists, [&](std::size_t i) { return evaluator.prepare(configurations[i], fake::problem(8), 1); }, limits,
        [&](int round) {
          rounds = round + 1;
          return false;
        });
  }
};

}  // namespace

TEST_CASE("the finals go on until the medians separate") {
  Race race;
  race.evaluator.cost = [](const Configuration& c, const Problem&) {
    return 10.0 + static_cast<double>(c.number("width"));
  };
  for (const std::int64_t width : {3, 1, 2}) race.enter(width);
  race.run();
  const Ranking ranking = rank(race.finalists);
  CHECK(race.rounds < FinalsLimits{}.maximum_rounds);
  CHECK(ranking.ties == 1);
  CHECK(ranking.order == std::vector<std::size_t>{1, 2, 0});
}

TEST_CASE("who is far behind drops out after five rounds, the fastest has the fewest that make a median") {
  Race race;
  race.evaluator.noise = 0.01;
  race.evaluator.outliers = 0.0;
  race.evaluator.cost = [](const Configuration& c, const Problem&) { return c.number("width") == 2 ? 10.0 : 12.0; };
  for (const std::int64_t width : {1, 2, 3}) race.enter(width);
  race.run();
  CHECK(race.finalists[0].times.size() == 5);
  CHECK(race.finalists[1].times.size() == 9);
  CHECK(race.finalists[2].times.size() == 5);
  CHECK(race.finalists[0].beaten);
  CHECK(rank(race.finalists).ties == 1);
}

TEST_CASE("equals on a quiet device are ties after the fewest rounds") {
  Race race;
  race.evaluator.noise = 0.002;
  race.evaluator.outliers = 0.0;
  race.evaluator.cost = [](const Configuration& c, const Problem&) { return c.number("width") == 2 ? 10.05 : 10.0; };
  for (const std::int64_t width : {1, 2, 3}) race.enter(width);
  race.run();
  CHECK(race.rounds == FinalsLimits{}.minimum_rounds);
  CHECK(rank(race.finalists).ties == 3);
}

TEST_CASE("equals among noise are ties, after all rounds") {
  Race race;
  race.evaluator.noise = 0.1;
  race.evaluator.cost = [](const Configuration& c, const Problem&) { return c.number("width") == 4 ? 15.0 : 10.0; };
  for (const std::int64_t width : {4, 1, 2, 3}) race.enter(width);
  race.run();
  const Ranking ranking = rank(race.finalists);
  CHECK(race.rounds == FinalsLimits{}.maximum_rounds);
  CHECK(ranking.ties == 3);
  CHECK(ranking.order.back() == 0);
  CHECK(race.finalists[0].times.size() < 31);
  CHECK(race.finalists[1].times.size() == 31);
}

TEST_CASE("a round that others disturbed is timed again, and not for ever") {
  for (const int disturbances : {0, 2, 1000}) {
    CAPTURE(disturbances);
    Race race;
    race.evaluator.noise = 0.1;  // so that they are not found to be equal
    for (const std::int64_t width : {1, 1}) race.enter(width);
    int rounds_timed = 0;
    FinalsLimits limits;
    limits.disturbed = [&] { return ++rounds_timed <= disturbances; };
    race.run(limits);
    const int timed_again = std::min(disturbances, limits.minimum_rounds);
    CHECK(rounds_timed == limits.maximum_rounds + timed_again);
    for (const Finalist& finalist : race.finalists) {
      CHECK(static_cast<int>(finalist.times.size()) == limits.maximum_rounds);
    }
  }
}

TEST_CASE("who fails is out, with a status and no times") {
  Race race;
  race.evaluator.fate = [](const Configuration& c) {
    if (c.number("width") == 1) return Status::launch;
    return c.number("width") == 2 ? Status::overrun : Status::correct;
  };
  for (const std::int64_t width : {1, 2, 3}) race.enter(width);
  race.run();
  CHECK(race.finalists[0].status == Status::launch);
  CHECK(race.finalists[1].status == Status::overrun);
  CHECK(race.finalists[1].times.empty());
  CHECK(rank(race.finalists).order == std::vector<std::size_t>{2});
}

TEST_CASE("a bad address ends the finals before others are blamed for it") {
  Race race;
  race.evaluator.fate = [](const Configuration& c) {
    return c.number("width") == 2 ? Status::illegal_access : Status::correct;
  };
  for (const std::int64_t width : {1, 2, 3}) race.enter(width);
  race.run();
  CHECK(race.finalists[1].status == Status::illegal_access);
  CHECK(!race.finalists[0].failed());
  CHECK(!race.finalists[2].failed());
}

TEST_CASE("nobody to rank") {
  CHECK(rank({}).order.empty());
  std::vector<Finalist> nobody;
  run_finals(nobody, {}, {}, [](int) { return false; });
}
