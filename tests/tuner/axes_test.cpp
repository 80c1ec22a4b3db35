// Whatever thinks about sizes, on axes of every kind.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "carving_family.hpp"
#include "fake_evaluator.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/tuner/coverage.hpp"
#include "heddle/tuner/known_profiles.hpp"
#include "heddle/tuner/regret.hpp"
#include "heddle/tuner/transfer.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/temporary_store.hpp"

using namespace heddle;

namespace {

const std::vector<Axis>& carving_axes() { return test::carving_axes(); }
std::vector<Problem> default_carvings() { return test::CarvingFamily().default_problems(fake::identity()); }

/// The best width grows with the elements and with the bytes, the best depth with the cuts.
double carving_cost(const Configuration& c, const Problem& p) {
  const double width = std::log2(static_cast<double>(p.at("elements"))) + (p.at("bytes") == 4 ? 0.0 : 3.0);
  const double depth = 1.0 + 0.25 * static_cast<double>(p.at("cuts"));
  return 2.0 + 0.5 * std::abs(static_cast<double>(c.number("width")) - width) +
         0.25 * std::abs(static_cast<double>(c.number("depth")) - depth);
}

Profile carved(const Problem& problem, const Configuration& configuration) {
  Profile profile;
  profile.key = {.device = fake::identity(), .family = "carving", .problem = problem};
  profile.kernels.source_hash = test::CarvingFamily().source("").hash();
  profile.configuration = configuration.text();
  profile.time = carving_cost(configuration, problem);
  profile.samples = 64;
  return profile;
}

bool finite(const Problem& a, const Problem& b) { return std::isfinite(distance(a, b, carving_axes())); }

}  // namespace

TEST_CASE("cells lie between problems from which something carries over") {
  const std::vector<Problem> grid = default_carvings();
  const std::vector<Problem> within = within_cells(grid, carving_axes());
  CHECK(within == within_cells(grid, carving_axes()));
  // Two cells of elements and one of cuts, for each of two kinds of bytes: without a halo, and with one from 0 to 16.
  CHECK(within.size() == 2 * (2 + 2));
  for (const Problem& problem : within) {
    CAPTURE(problem.text());
    CHECK_FALSE(misfit(problem, carving_axes()));
    CHECK(std::ranges::find(grid, problem) == grid.end());
    CHECK(std::ranges::any_of(grid, [&](const Problem& tuned) { return finite(problem, tuned); }));
    CHECK((problem.at("bytes") == 4 || problem.at("bytes") == 8));
  }
}

TEST_CASE("a grid of few problems with many sizes has no more cells than it can use") {
  std::vector<Axis> deep{{.name = "rows"}, {.name = "inputs"}, {.name = "outputs"}};
  for (int layer = 1; layer <= 8; ++layer) {
    deep.push_back({.name = "hidden" + std::to_string(layer), .zero_means_none = true});
  }
  std::mt19937_64 random(11);
  std::vector<Problem> grid;
  grid.reserve(30);
  for (int i = 0; i < 30; ++i) grid.push_back(test::any_problem(deep, random));
  const std::vector<Problem> within = within_cells(grid, deep);
  CHECK(within.size() == grid.size());
  for (const Problem& problem : within) CHECK_FALSE(misfit(problem, deep));
  CHECK(within_cells(grid, deep) == within);
}

TEST_CASE("tuning what nothing else covers lowers the expected loss most") {
  Coverage coverage(carving_axes(), default_carvings());
  CHECK(coverage.expected_loss() == 1.0);
  std::vector<Problem> left = default_carvings();
  std::set<std::pair<std::int64_t, bool>> groups;
  double before = 1.0;
  for (int times = 0; times < 4; ++times) {
    const std::size_t chosen = coverage.most_valuable(left);
    CHECK_FALSE(coverage.is_complete());  // of a group without a tuned problem nothing is known
    coverage.add_tuned(left[chosen]);
    groups.emplace(left[chosen].at("bytes"), left[chosen].find("halo").has_value());
    CHECK(coverage.expected_loss() < before);
    before = coverage.expected_loss();
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  CHECK(groups.size() == 4);  // each group once
  CHECK(coverage.is_complete());
  CHECK(before < 0.7);
  // What is infinitely far away teaches nothing.
  coverage.learn(test::carving(64, 0, 0, 4), test::carving(64, 0, 0, 8), 9.0);
  coverage.learn(test::carving(64, 0, 0, 4), test::carving(64, 0, std::nullopt, 4), 9.0);
  CHECK(coverage.expected_loss() == before);
}

TEST_CASE("costs carry over between sizes, and not to where nothing carries over") {
  const auto space = test::CarvingFamily().space(fake::identity()).enumerate(test::carving(64, 12, 0, 4));
  Transfer transfer(carving_axes());
  std::mt19937_64 random(3);
  for (const std::int64_t elements : {256, 4096, 65536}) {
    for (const std::int64_t cuts : {8, 20}) {
      const Problem problem = test::carving(elements, cuts, 0, 4);
      Transfer::Costs costs;
      for (int i = 0; i < 40; ++i) {
        const Configuration& configuration = space[random() % space.size()];
        costs.emplace_back(configuration, carving_cost(configuration, problem));
      }
      transfer.learn(problem, costs);
    }
  }
  const Problem untuned = test::carving(1024, 14, 4, 4);
  const std::vector<float> expected = transfer.expected(untuned, space);
  REQUIRE(expected.size() == space.size());
  for (const float value : expected) CHECK(std::isfinite(value));
  // What is expected to be the fastest is among the fastest tenth of the space.
  const double best =
      carving_cost(space[static_cast<std::size_t>(std::ranges::min_element(expected) - expected.begin())], untuned);
  const auto faster =
      std::ranges::count_if(space, [&](const Configuration& other) { return carving_cost(other, untuned) < best; });
  CHECK(faster * 10 < std::ssize(space));
  CHECK(transfer.expected(test::carving(1024, 14, 4, 8), space).empty());
  CHECK(transfer.expected(test::carving(1024, 14, std::nullopt, 4), space).empty());
}

TEST_CASE("hints come from problems at a finite distance, the nearest first, and fit the axes") {
  const test::CarvingFamily family;
  const fake::FakeEvaluator evaluator(family);
  const auto at = test::CarvingFamily::configuration;
  const Problem here = test::carving(128, 3, 8, 4);
  Profile foreign = carved(here, at(5, 1));
  foreign.key.problem = Problem({{.name = "elements", .value = 128}});
  const KnownProfiles known(
      {carved(test::carving(128, 3, 8, 8), at(1, 1)), carved(test::carving(128, 3, std::nullopt, 4), at(2, 1)),
       carved(test::carving(4096, 3, 8, 4), at(3, 1)), carved(test::carving(128, 5, 8, 4), at(4, 1)), foreign},
      {}, evaluator);
  CHECK(known.profiles().size() == 4);
  CHECK(known.hints(here, 9) == std::vector{at(4, 1), at(3, 1)});
}

TEST_CASE("a family with axes of every kind is tuned, and its profiles serve sizes in between") {
  const test::CarvingFamily family;
  fake::FakeEvaluator evaluator(family);
  evaluator.cost = carving_cost;
  const TemporaryStore temporary;
  StopCondition stop({.seconds = {}, .evaluations = 4000}, {});
  const std::vector<Problem> grid = default_carvings();
  TunerOptions options;
  options.tune_sizes_between = true;
  const auto results = Tuner(evaluator, temporary.store, options).tune(grid, stop);
  CHECK(results.size() >= grid.size());
  for (const TuningResult& result : results) {
    CAPTURE(result.problem.text());
    CHECK(result.profile);
    CHECK_FALSE(misfit(result.problem, carving_axes()));
  }
  const std::vector<Profile> profiles = temporary.store.profiles("carving");
  CHECK(profiles.size() >= grid.size());
  for (const Profile& profile : profiles) CHECK_FALSE(misfit(profile.key.problem, carving_axes()));

  const Dispatcher dispatcher(fake::identity(), family, profiles);
  for (const Problem& problem : grid) CHECK(dispatcher.choose(problem).tier == Tier::exact);
  const std::vector<Problem> between = problems_between(grid, carving_axes(), 40, 7);
  CHECK(between.size() == 40);
  std::set<std::pair<std::int64_t, bool>> groups;
  for (const Problem& problem : between) {
    CAPTURE(problem.text());
    groups.emplace(problem.at("bytes"), problem.find("halo").has_value());
    const Candidate choice = dispatcher.choose(problem);
    REQUIRE(choice.profile != nullptr);
    CHECK(finite(choice.profile->key.problem, problem));
  }
  CHECK(groups.size() == 4);
  for (const Problem& alone : {test::carving(64, 0, 0, 2), test::carving(64, 0, 16, 16)}) {
    CHECK(dispatcher.choose(alone).tier == Tier::fallback);
    const auto explanation = dispatcher.explain(alone);
    CHECK(explanation.candidates.size() == 1);
    CHECK(explanation.text().find("nothing carries over from another value of bytes") != std::string::npos);
  }
}

TEST_CASE("a stored profile with other axes spoils neither tuning nor the dispatcher") {
  const test::CarvingFamily family;
  fake::FakeEvaluator evaluator(family);
  evaluator.cost = carving_cost;
  const TemporaryStore temporary;
  Profile foreign = carved(test::carving(64, 0, 0, 4), test::CarvingFamily::configuration(3, 1));
  foreign.key.problem = Problem({{.name = "elements", .value = 64}, {.name = "knives", .value = 2}});
  temporary.store.keep(foreign);
  StopCondition stop({.seconds = {}, .evaluations = 60}, {});
  const Problem problem = test::carving(64, 0, 0, 4);
  const auto results = Tuner(evaluator, temporary.store, {}).tune({problem}, stop);
  REQUIRE(results.size() == 1);
  CHECK(results.front().profile);
  const Dispatcher dispatcher(fake::identity(), family, temporary.store.profiles());
  REQUIRE(dispatcher.left_out().size() == 1);
  CHECK(dispatcher.left_out().front().reason.find("cuts=<number>") != std::string::npos);
  CHECK(dispatcher.choose(problem).tier == Tier::exact);
  CHECK(dispatcher.explain(problem).text().find("cuts=<number>") != std::string::npos);
}
