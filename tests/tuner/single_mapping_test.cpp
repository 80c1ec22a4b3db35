#include "heddle/tuner/single_mapping.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fake_evaluator.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/temporary_store.hpp"

using namespace heddle;

namespace {

/// Nothing is tried at many problems unasked: each allows other configurations, and has another default; no others are
/// named, and what won at one problem is no hint for another.
class VariedFamily : public fake::Family {
 public:
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes{{.name = "size", .maximum = 1 << 20, .spacing = Spacing::equal}};
    return axes;
  }
  SearchSpace space(const DeviceIdentity& device) const override {
    const SearchSpace plain = Family::space(device);
    std::vector<Constraint> constraints = plain.constraints();
    constraints.push_back({.name = "fits", .last = "depth", .holds = [](const auto& c, const Problem& p, const auto&) {
                             return fits(c.number("width"), c.number("depth"), p.at("size"));
                           }});
    return {device, plain.parameters(), std::move(constraints)};
  }
  Configuration default_configuration(const DeviceIdentity&, const Problem& problem) const override {
    const std::int64_t size = problem.at("size");
    std::int64_t width = 1 + size % 19;
    if (!fits(width, 1, size)) ++width;
    return configuration("good", width, 1);
  }
  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override { return {}; }

 private:
  static bool fits(std::int64_t width, std::int64_t depth, std::int64_t size) {
    return (5 * width + 3 * depth + size) % 7 != 0;
  }
};

/// Every problem has kernels of its own.
class UnsharedFamily final : public VariedFamily {
 public:
  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            std::int64_t samples) const override {
    Plan plan = VariedFamily::plan(configuration, problem, device, samples);
    plan.kernels = {"fake::of<" + text(configuration.number("width")) + ", " + problem.text() + ">"};
    return plan;
  }
};

std::vector<Problem> many_sizes() {
  std::vector<Problem> problems;
  for (std::int64_t i = 0; i < 60; ++i) problems.push_back(fake::problem(10 + 37 * i));
  return problems;
}

constexpr std::int64_t kEvaluations = 360;  // six for each problem

std::int64_t evaluations_of(const std::vector<TuningResult>& results) {
  std::int64_t sum = 0;
  for (const TuningResult& result : results) sum += result.evaluations();
  return sum;
}

/// A run of the tuner, and what it says about the single mapping.
struct Compared {
  std::vector<TuningResult> results;
  std::optional<SingleMapping> single;
};

Compared tune(fake::FakeEvaluator& evaluator, ProfileStore& store, StopCondition& stop) {
  Compared compared;
  TunerCallbacks callbacks;
  callbacks.single_mapping = [&](const SingleMapping& mapping) { compared.single = mapping; };
  compared.results = Tuner(evaluator, store, {.strategy = "annealing"}, callbacks).tune(many_sizes(), stop);
  return compared;
}

/// Of the screenings, by problem and configuration.
std::map<Problem, std::map<std::string, double>> costs_in(const ProfileStore& store) {
  std::map<Problem, std::map<std::string, double>> costs;
  for (const Measurement& each : store.measurements()) {
    if (each.visit == 0 && each.cost) costs[each.key.problem][each.configuration] = *each.cost;
  }
  return costs;
}

std::vector<Profile> profiles_of(const std::map<std::int64_t, Configuration>& winners) {
  std::vector<Profile> profiles;
  for (const auto& [size, configuration] : winners) {
    Profile profile;
    profile.key = {.device = fake::identity(), .family = "fake", .problem = fake::problem(size)};
    profile.configuration = configuration.text();
    profiles.push_back(profile);
  }
  return profiles;
}

}  // namespace

TEST_CASE("the best single mapping is the one that loses least over all problems") {
  const fake::Family family;
  std::vector<Profile> winners;
  std::vector<Measurement> measurements;
  const auto measured = [&](std::int64_t size, std::int64_t width, double cost, std::int64_t depth = 1) {
    Measurement m;
    m.key = {.device = fake::identity(), .family = "fake", .problem = fake::problem(size)};
    m.configuration = fake::Family::configuration("good", width, depth).text();
    m.status = Status::unverified;
    m.cost = cost;
    measurements.push_back(m);
  };
  const auto won = [&](std::int64_t size, std::int64_t width, std::int64_t depth = 1) {
    Profile profile;
    profile.key = {.device = fake::identity(), .family = "fake", .problem = fake::problem(size)};
    profile.configuration = fake::Family::configuration("good", width, depth).text();
    winners.push_back(profile);
  };
  for (const std::int64_t size : {1, 4, 8}) {
    measured(size, 1, 4.0);          // the default
    measured(size, 2, 1.0 + 0.1);    // 1.1 times as slow everywhere
    measured(size, 10 + size, 1.0);  // the winner of one size
    won(size, 10 + size);
  }
  measured(4, 11, 9.0);
  measured(8, 11, 9.0);
  CHECK(!best_single_mapping(family, fake::identity(), {winners[0]}, screened_costs(measurements), {}));
  auto best = best_single_mapping(family, fake::identity(), winners, screened_costs(measurements), {});
  REQUIRE(best);
  CHECK(best->configuration == fake::Family::configuration("good", 2, 1).text());
  CHECK(best->mean_log_ratio == doctest::Approx(std::log(1.1)));
  CHECK(best->measured == 3);
  CHECK(best->tried == 3);
  CHECK(best->problems == 3);

  // Finals do not count; where a problem does not allow the mapping, the default stands in for it.
  measurements.back().cost = 0.1;
  measurements.back().visit = 1;
  measured(4, 3, 1.0, 2);
  measured(8, 3, 1.0, 2);
  CHECK(best_single_mapping(family, fake::identity(), winners, screened_costs(measurements), {})->configuration ==
        best->configuration);
  for (Measurement& m : measurements) {
    if (m.configuration == fake::Family::configuration("good", 1, 1).text()) m.cost = 1.01;
  }
  best = best_single_mapping(family, fake::identity(), winners, screened_costs(measurements), {});
  CHECK(best->configuration == fake::Family::configuration("good", 3, 2).text());
  CHECK(best->mean_log_ratio == doctest::Approx(std::log(1.01) / 3.0));
  CHECK(best->measured == 2);
  CHECK(best->tried == 3);
}

TEST_CASE("where a mapping was not tried, a model of times says what it loses") {
  const fake::Family family;
  const auto mapping = fake::Family::configuration("good", 18, 1);
  const std::vector<Profile> winners = profiles_of({{1, fake::Family::configuration("good", 11, 1)},
                                                    {2, fake::Family::configuration("good", 12, 1)},
                                                    {4, fake::Family::configuration("good", 14, 1)},
                                                    {8, mapping}});
  CostsOfProblems costs;
  for (const Profile& winner : winners) {
    costs[winner.key.problem] = {{winner.configuration, 1.0}, {family.configuration("good", 1, 1).text(), 2.0}};
  }
  const auto best = [&](const ExpectedCost& model) {
    return *best_single_mapping(family, fake::identity(), winners, costs, model);
  };
  const SingleMapping modelled = best([&](const Configuration& c, const Problem& p) -> std::optional<double> {
    return c == mapping ? 3.9 : c.number("width") == 10 + p.at("size") ? 3.0 : 9.0;
  });
  CHECK(modelled.configuration == mapping.text());
  CHECK(modelled.measured == 1);
  CHECK(modelled.expected == 3);
  CHECK(modelled.tried == 4);
  CHECK(modelled.mean_log_ratio == doctest::Approx(0.75 * std::log(1.3)));
  // What it says of the mapping alone, and not of the winners, is nothing to compare with.
  const SingleMapping untuned = best([&](const Configuration& c, const Problem&) -> std::optional<double> {
    return c == mapping ? std::optional(3.9) : std::nullopt;
  });
  CHECK(untuned.configuration == "kind=good width=1 depth=1");
  CHECK(untuned.measured == 4);
  CHECK(untuned.expected == 0);
  CHECK(untuned.mean_log_ratio == doctest::Approx(std::log(2.0)));
}

TEST_CASE("the likeliest single mapping: what it loses where it was tried, and what is expected elsewhere") {
  const fake::Family family;
  const auto a = fake::Family::configuration("good", 3, 1), b = fake::Family::configuration("good", 4, 1),
             deep = fake::Family::configuration("good", 5, 10);
  const std::vector<Profile> winners = profiles_of({{1, a}, {2, b}, {3, a}, {30, deep}});
  CostsOfProblems costs;
  const auto measured = [&](std::int64_t size, const Configuration& configuration, double cost) {
    costs[fake::problem(size)][configuration.text()] = cost;
  };
  for (const Profile& winner : winners) costs[winner.key.problem][winner.configuration] = 1.0;
  for (const std::int64_t size : {1, 2, 3, 30}) {
    measured(size, family.default_configuration(fake::identity(), fake::problem(size)), 1.4);
  }
  measured(2, a, 1.3);
  measured(1, b, 1.1);
  const ExpectedCost nothing = [](const Configuration&, const Problem&) { return std::nullopt; };
  const auto likely = [&](const ExpectedCost& expected) {
    return likely_single_mapping(family, fake::identity(), winners, costs, expected);
  };
  // `b` loses less where it did not win. `deep` is allowed at one problem of four.
  auto found = likely(nothing);
  REQUIRE(found);
  CHECK(found->configuration == b);
  CHECK(found->untried == std::vector{fake::problem(3), fake::problem(30)});
  CHECK(found->kernels == 0);  // where it was measured, the only one was compiled
  // A model that knows better is believed, where it says something of the winner, too.
  const ExpectedCost against_b = [&](const Configuration& c, const Problem&) -> std::optional<double> {
    return c == b ? 7.0 : 1.0;
  };
  found = likely(against_b);
  REQUIRE(found);
  CHECK(found->configuration == a);
  CHECK(found->untried == std::vector{fake::problem(30)});
  CHECK(likely([&](const Configuration& c, const Problem&) -> std::optional<double> {
          return c == b ? std::optional(7.0) : std::nullopt;
        })->configuration == b);
  CHECK(!likely_single_mapping(family, fake::identity(), {winners[0]}, costs, nothing));
}

TEST_CASE("the problems of a single mapping: one for each of its new kernels comes first") {
  class Family final : public fake::Family {
   public:
    Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
              std::int64_t samples) const override {
      Plan plan = fake::Family::plan(configuration, problem, device, samples);
      plan.kernels = {"fake::of<" + text(problem.at("size") / 10) + ">"};
      return plan;
    }
  };
  const Family family;
  const auto mapping = fake::Family::configuration("good", 3, 1);
  std::map<std::int64_t, Configuration> winners;
  for (const std::int64_t size : {10, 11, 12, 20, 21, 30})
    winners.emplace(size, fake::Family::configuration("good", 9, 9));
  winners.at(10) = mapping;
  const std::vector<Profile> profiles = profiles_of(winners);
  CostsOfProblems costs;
  for (const Profile& profile : profiles) costs[profile.key.problem][profile.configuration] = 1.0;
  const auto likely = likely_single_mapping(
      family, fake::identity(), profiles, costs,
      [&](const Configuration& c, const Problem&) { return std::optional(c == mapping ? 1.0 : 2.0); });
  REQUIRE(likely);
  CHECK(likely->configuration == mapping);
  CHECK(likely->untried ==
        std::vector{fake::problem(20), fake::problem(30), fake::problem(11), fake::problem(12), fake::problem(21)});
  CHECK(likely->kernels == 2);
}

TEST_CASE("a run of many problems with few evaluations compares its winners with a single mapping") {
  const VariedFamily family;
  fake::FakeEvaluator evaluator(family);
  const TemporaryStore temporary;
  StopCondition stop({.seconds = {}, .evaluations = kEvaluations});
  const Compared compared = tune(evaluator, temporary.store, stop);
  REQUIRE(compared.results.size() == 60);
  REQUIRE(compared.single);
  const SingleMapping& single = *compared.single;
  CHECK(single.problems == 60);
  CHECK(2 * single.measured >= 60);
  CHECK(evaluations_of(compared.results) <= kEvaluations);

  // The factor is what the recorded times give. No problem keeps a winner that is slower than the mapping is there.
  const SearchSpace space = family.space(fake::identity());
  const Configuration mapping = space.parse(single.configuration);
  auto costs = costs_in(temporary.store);
  double sum = 0.0;
  std::size_t measured = 0, tried = 0;
  for (const TuningResult& result : compared.results) {
    REQUIRE(result.profile);
    auto& here = costs[result.problem];
    const double winner = here.at(result.profile->configuration);
    if (here.contains(single.configuration)) {
      CHECK(here[single.configuration] >= 0.97 * winner);  // the noise of a measurement is 2 %
      sum += std::log(here[single.configuration] / winner);
      ++measured;
      ++tried;
    } else if (space.violated(mapping, result.problem)) {
      sum += std::log(here.at(result.untuned.configuration) / winner);
      ++tried;
    }
  }
  CHECK(single.measured == measured);
  CHECK(single.tried == tried);
  CHECK(single.mean_log_ratio == doctest::Approx(sum / static_cast<double>(tried)));
}

TEST_CASE("a single mapping is tried everywhere only if there is time for its kernels") {
  for (const double seconds : {40.0, 400.0}) {
    CAPTURE(seconds);
    const UnsharedFamily family;
    fake::FakeEvaluator evaluator(family);
    evaluator.run_seconds = 0.002;
    evaluator.compile_seconds = 0.1;  // of the clock; it says 0.5 of a kernel
    const TemporaryStore temporary;
    StopCondition stop({.seconds = seconds, .evaluations = kEvaluations}, {}, [&] { return evaluator.now; });
    const Compared compared = tune(evaluator, temporary.store, stop);
    // 60 kernels take four compiler threads 7.5 s. Of 40 s three are there for them at most. A tenth of all evaluations
    // is kept for the mapping.
    const bool has_time = seconds > 100.0;
    CHECK(compared.single.has_value() == has_time);
    CHECK((evaluations_of(compared.results) > kEvaluations * 9 / 10) == has_time);
  }
}
