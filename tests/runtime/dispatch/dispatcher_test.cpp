#include "heddle/runtime/dispatch/dispatcher.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "heddle/kernels/mlp/train.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/profiles/exchange.hpp"

namespace heddle {
namespace {

const DeviceIdentity kHere{.backend = "cuda",
                           .name = "Card A",
                           .architecture = "9.0",
                           .units = 132,
                           .memory_gib = 140,
                           .cache_bytes = 50 << 20,
                           .local_bytes = 227 << 10};

DeviceIdentity other(const std::string& name, const std::string& architecture, std::int64_t units) {
  DeviceIdentity device = kHere;
  device.name = name;
  device.architecture = architecture;
  device.units = units;
  return device;
}

/// Valid configurations that differ, for one problem.
std::vector<Configuration> configurations(const Problem& problem) {
  return sonfin::train_family().space(kHere).enumerate(problem);
}

Profile profile(const Problem& problem, const Configuration& configuration, const DeviceIdentity& device = kHere,
                const std::string& hash = "now") {
  Profile p;
  p.key = {.device = device, .family = "sonfin-train", .problem = problem};
  p.kernels.source_hash = hash;
  if (hash == "now") p.kernels = kernel_version(sonfin::train_family(), device);
  p.configuration = configuration.text();
  p.time = 2.5;
  return p;
}

Dispatcher dispatcher(std::vector<Profile> profiles) { return {kHere, sonfin::train_family(), std::move(profiles)}; }

/// Those behind which there is a profile.
std::vector<Candidate> of_profiles(std::vector<Candidate> candidates) {
  std::erase_if(candidates, [](const Candidate& c) { return !has_profile(c.tier); });
  return candidates;
}

const Problem kProblem = sonfin::problem(640, 617, 26);

TEST_CASE("without profiles the family's default is the answer") {
  const Dispatcher d = dispatcher({});
  const Candidate choice = d.choose(kProblem);
  CHECK(choice.tier == Tier::fallback);
  CHECK(choice.profile == nullptr);
  CHECK(choice.configuration == sonfin::train_family().default_configuration(kHere, kProblem));
  CHECK(d.candidates(kProblem).size() == 1);
}

TEST_CASE("without profiles the model's choice comes first where it gains more than the model is off") {
  const Problem problem = sonfin::problem(300, 16, 10);
  const KernelFamily& family = sonfin::train_family();
  const Configuration standard = family.default_configuration(kHere, problem);
  REQUIRE(standard.word("scheme") == "cluster");
  // The weights of a card on which clusters take `factor` times as long.
  const auto slow_clusters = [&](double factor, double left_out_error) {
    FittedModel slow = choose_model(family, kHere, {})->fitted();
    slow.device = kHere;
    slow.kernels = kernel_version(family, kHere);
    slow.left_out_error = left_out_error;
    for (TermWeight& each : slow.weights) {
      if (each.term.starts_with("cluster")) each.microseconds *= factor;
    }
    return slow;
  };
  const FittedModel fitted = slow_clusters(8.0, 0.03);
  const Dispatcher d(kHere, family, {{}, {fitted}});
  const Candidate choice = d.choose(problem);
  CHECK(choice.tier == Tier::expected);
  CHECK_FALSE(has_profile(choice.tier));
  CHECK(choice.configuration.word("scheme") != "cluster");
  CHECK_FALSE(choice.promised);
  REQUIRE(choice.expected);
  const SearchSpace space = family.space(kHere);
  CHECK_FALSE(space.violated(choice.configuration, problem));
  const auto model = choose_model(family, kHere, {fitted});
  for (const Configuration& each : space.enumerate(problem)) {
    if (const auto estimate = model->estimate(each)) CHECK(estimate(problem) >= *choice.expected);
  }
  CHECK(choice.reason.find("untuned default") != std::string::npos);
  const auto candidates = d.candidates(problem);
  REQUIRE(candidates.size() == 2);
  CHECK(candidates[0].configuration == choice.configuration);
  CHECK(candidates[1].configuration == standard);
  CHECK(candidates[1].tier == Tier::fallback);

  // What was measured comes before what is only expected.
  const auto measured = profile(sonfin::problem(256, 16, 10), standard);
  const auto both = Dispatcher(kHere, family, {{measured}, {fitted}}).candidates(problem);
  REQUIRE(both.size() == 2);
  CHECK(both[0].tier == Tier::nearest);
  CHECK(both[1].tier == Tier::expected);

  // Weights of another architecture say nothing about this card.
  CHECK(Dispatcher(other("Card D", "8.0", 108), family, {{}, {fitted}}).choose(problem).tier == Tier::fallback);

  // A model that is off by more than what is to be gained is no reason to leave the default.
  const auto tier = [&](double left_out_error) {
    return Dispatcher(kHere, family, {{}, {slow_clusters(1.04, left_out_error)}}).choose(problem).tier;
  };
  CHECK(tier(0.0) == Tier::expected);
  CHECK(tier(0.14) == Tier::fallback);
}

TEST_CASE("where the untuned default cannot run, what is likely to be fast comes next") {
  const KernelFamily& family = mlp::train_family();
  const Problem digits = mlp::training_problem(mlp::layers(784, std::vector<std::int64_t>{128}, 10), 60000, 64);
  const Configuration untuned = family.default_configuration(kHere, digits);
  REQUIRE(untuned.word("scheme") == "neurons");  // needs room for clusters
  const std::vector<Candidate> candidates = Dispatcher(kHere, family, {}).candidates(digits);
  REQUIRE(candidates.size() > 1);
  CHECK(candidates.front().configuration == untuned);
  CHECK(std::ranges::any_of(candidates, [](const Candidate& each) {
    return each.configuration.word("scheme") == "spread" && each.tier == Tier::likely;
  }));
  for (const Configuration& likely : family.likely_configurations(kHere, digits)) {
    CHECK(std::ranges::count(candidates, likely, &Candidate::configuration) == 1);
  }
}

TEST_CASE("behind an untuned default that streams its rules comes a launched scheme") {
  const KernelFamily& family = sonfin::train_family();
  const std::vector<Candidate> candidates = Dispatcher(kHere, family, {}).candidates(sonfin::problem(2000, 5000, 1));
  REQUIRE(candidates.size() == 2);
  CHECK(candidates[0].tier == Tier::fallback);
  CHECK(candidates[0].configuration.word("storage") == "stream");
  CHECK(candidates[1].tier == Tier::likely);
  CHECK(candidates[1].configuration.word("scheme") == "graph");
}

TEST_CASE("where the model does not know the untuned default's shape, the default stays") {
  const KernelFamily& family = sonfin::train_family();
  const Problem wide = sonfin::problem(96, 2000, 1);
  REQUIRE(family.default_configuration(kHere, wide).number("threads_per_rule") > 32);
  FittedModel fitted = choose_model(family, kHere, {})->fitted();
  fitted.device = kHere;
  fitted.kernels = kernel_version(family, kHere);
  fitted.left_out_error = 0.0;
  std::erase_if(fitted.weights,
                [](const TermWeight& weight) { return weight.term.starts_with("grid, several warps"); });
  CHECK(Dispatcher(kHere, family, {{}, {fitted}}).choose(wide).tier == Tier::fallback);
  // With weights for it, it is chosen by the model like any other.
  for (const std::string_view term : family.cost_terms("cuda")) {
    if (std::ranges::find(fitted.weights, term, &TermWeight::term) == fitted.weights.end()) {
      fitted.weights.push_back({.term = std::string(term), .microseconds = 0.001});
    }
  }
  const Candidate choice = Dispatcher(kHere, family, {{}, {fitted}}).choose(wide);
  CHECK(choice.tier == Tier::expected);
  CHECK(choice.configuration.number("threads_per_rule") > 32);
}

TEST_CASE("the default comes before what won elsewhere, where the model expects it to be faster here") {
  const KernelFamily& family = sonfin::train_family();
  const SearchSpace space = family.space(kHere);
  const Problem here = sonfin::problem(300, 16, 10), there = sonfin::problem(256, 16, 10);
  const Configuration standard = family.default_configuration(kHere, here);
  const Configuration winner =
      space.parse("scheme=grid coarsen_count=1 block_size=128 threads_per_rule=4 vector=4 storage=registers");
  REQUIRE(standard.word("scheme") == "cluster");
  REQUIRE(!space.violated(winner, here));
  // Times to which the weights of a card come where grids take `factor` times as long.
  const auto on_card = [&](double factor, const std::string& architecture, const Configuration& won,
                           const Problem& sizes, const Goal& goal = {}) {
    FittedModel fitted = choose_model(family, kHere, {})->fitted();
    fitted.device = kHere;
    fitted.device.architecture = architecture;
    fitted.kernels = kernel_version(family, kHere);
    fitted.left_out_error = 0.03;
    for (TermWeight& each : fitted.weights) {
      if (each.term.starts_with("grid")) each.microseconds *= factor;
    }
    DeviceIdentity device = kHere;
    device.architecture = architecture;
    Profile profile_there = profile(sizes, won, device);
    profile_there.key.goal = goal;
    const auto estimate = CostModel(family, kHere, fitted, CostModel::Source::device).estimate(won);
    if (estimate) profile_there.time = estimate(sizes);
    return Dispatcher(device, family, {{profile_there}, {fitted}});
  };
  const Dispatcher slow_grids = on_card(3.0, "9.0", winner, there);
  const Candidate choice = slow_grids.choose(here);
  CHECK(choice.configuration == standard);
  CHECK(choice.tier == Tier::fallback);
  CHECK(!choice.promised);
  REQUIRE(choice.expected);
  CHECK(choice.reason.find(there.text()) != std::string::npos);
  const auto candidates = slow_grids.candidates(here);
  REQUIRE(candidates.size() >= 2);
  CHECK(candidates[0].configuration == standard);
  CHECK(candidates[0].reason == choice.reason);
  CHECK(candidates[1].configuration == winner);
  CHECK(*candidates[0].expected < *candidates[1].expected);
  CHECK(std::ranges::count(candidates, standard, &Candidate::configuration) == 1);

  // Of what won for another goal, the model of times says nothing.
  CHECK(on_card(3.0, "9.0", winner, there, Goal::of("energy")).choose(here).configuration == winner);

  // Where grids are fast, what won stays first; so does what was measured for this very problem, and what has no model.
  CHECK(on_card(0.3, "9.0", winner, there).choose(here).configuration == winner);
  CHECK(on_card(3.0, "9.0", winner, here).choose(here).tier == Tier::exact);
  const auto all = configurations(here);
  const auto graph = std::ranges::find_if(all, [&](const auto& c) { return !family.term_counts(c, kHere).count; });
  REQUIRE(graph != all.end());
  CHECK(on_card(3.0, "9.0", *graph, there).choose(here).configuration == *graph);
}

TEST_CASE("only profiles of this device and about this size promise a time") {
  const auto all = configurations(kProblem);
  // A configuration of which the family has no model: what is promised is what was measured.
  const auto plain = std::ranges::find_if(
      all, [](const Configuration& c) { return !sonfin::train_family().term_counts(c, kHere).count; });
  REQUIRE(plain != all.end());
  const auto promised = [&](const Problem& measured_at, const DeviceIdentity& device, const char* hash) {
    return dispatcher({profile(measured_at, *plain, device, hash)}).candidates(kProblem).front().promised;
  };
  CHECK(promised(kProblem, kHere, "now") == std::optional(2.5));
  const auto near = promised(sonfin::problem(600, 617, 26), kHere, "now");
  REQUIRE(near);
  CHECK(*near == doctest::Approx(2.5 * 640 / 600));
  CHECK_FALSE(promised(sonfin::problem(320, 617, 26), kHere, "now"));
  CHECK_FALSE(promised(kProblem, kHere, "before"));
  CHECK_FALSE(promised(kProblem, other("Card B", "9.0", 114), "now"));
  CHECK_FALSE(dispatcher({}).choose(kProblem).promised);
  // With a model: what it makes expect.
  const auto modelled = std::ranges::find_if(all, [](const Configuration& c) {
    return static_cast<bool>(sonfin::train_family().term_counts(c, kHere).count);
  });
  REQUIRE(modelled != all.end());
  const Candidate far =
      of_profiles(dispatcher({profile(sonfin::problem(320, 617, 26), *modelled)}).candidates(kProblem)).at(0);
  REQUIRE(far.promised);
  CHECK(far.promised == far.expected);
}

TEST_CASE("tiers come in their order, whatever the order of the profiles") {
  const auto all = configurations(kProblem);
  REQUIRE(all.size() > 8);
  const Problem near = sonfin::problem(512, 617, 26);
  const Problem far = sonfin::problem(64, 16, 26);
  std::vector<Profile> profiles{
      profile(kProblem, all[1]),
      profile(near, all[2]),
      profile(far, all[3]),
      profile(kProblem, all[4], other("Card B", "9.0", 114)),
      profile(kProblem, all[5], other("Card C", "8.9", 132)),
      profile(kProblem, all[6], kHere, "before"),
  };
  // The stale profile and the exact one have the same key, which no store would hold; the dispatcher does not mind.
  std::ranges::sort(profiles, {}, &Profile::configuration);
  do {
    const Dispatcher d = dispatcher(profiles);
    const auto candidates = d.candidates(kProblem);
    REQUIRE(candidates.size() == 7);
    const std::vector<Tier> expected{Tier::exact,   Tier::nearest, Tier::nearest, Tier::architecture,
                                     Tier::backend, Tier::stale,   Tier::fallback};
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(candidates[i].tier == expected[i]);
    for (std::size_t i = 0; i < 6; ++i) CHECK(candidates[i].configuration == all[i + 1]);
    CHECK(candidates[0].squared_distance == 0.0);
    CHECK(candidates[1].squared_distance < candidates[2].squared_distance);
    CHECK(candidates[1].profile->key.problem == near);
  } while (std::ranges::next_permutation(profiles, {}, &Profile::configuration).found);
}

TEST_CASE("a profile made under another contract is stale, and says so; one from before there were contracts is not") {
  const auto all = configurations(kProblem);
  REQUIRE(all.size() > 3);
  Profile other_contract = profile(kProblem, all[1]);
  other_contract.kernels.contract_digest = std::string(32, 'c');
  const Candidate stale = dispatcher({other_contract}).choose(kProblem);
  CHECK(stale.tier == Tier::stale);
  CHECK(stale.currency == Currency::other_contract);
  CHECK(stale.reason.find("since then the search space, the launches or the compile options") != std::string::npos);
  CHECK_FALSE(stale.promised);
  const Candidate older = dispatcher({profile(kProblem, all[2], kHere, "before")}).choose(kProblem);
  CHECK(older.currency == Currency::other_templates);
  CHECK(older.reason.find("since then the kernel templates have changed") != std::string::npos);
  Profile unknown = profile(sonfin::problem(600, 617, 26), all[3]);
  unknown.kernels.contract_digest.clear();
  CHECK(dispatcher({unknown, other_contract}).choose(kProblem).tier == Tier::nearest);
}

TEST_CASE("among other devices at equal distance the one with the closest number of units comes first") {
  const auto all = configurations(kProblem);
  const auto candidates = dispatcher({profile(kProblem, all[1], other("Small", "9.0", 16)),
                                      profile(kProblem, all[2], other("Big", "9.0", 144))})
                              .candidates(kProblem);
  CHECK(candidates[0].configuration == all[2]);
  CHECK(candidates[1].configuration == all[1]);
}

TEST_CASE("between tuned sizes the configuration that is expected to be fastest there comes first") {
  const SearchSpace space = sonfin::train_family().space(kHere);
  const auto cluster = space.parse(
      "scheme=cluster coarsen_count=3 coarsening=rules block_size=128 threads_per_rule=8 vector=4 storage=registers");
  const auto smaller = space.parse(
      "scheme=cluster coarsen_count=2 coarsening=rules block_size=128 threads_per_rule=8 vector=4 storage=registers");
  const auto graph = configurations(kProblem).front();
  // The first is what won nearby; at these sizes it needs more registers than there are.
  const Problem here = sonfin::problem(362, 181, 16), near = sonfin::problem(362, 128, 16);
  const Problem far = sonfin::problem(256, 256, 10);
  const Dispatcher d = dispatcher({profile(near, cluster), profile(far, smaller)});
  const std::vector<Candidate> found = of_profiles(d.candidates(here));
  REQUIRE(found.size() >= 2);
  CHECK(found[0].configuration == smaller);
  CHECK(found[0].tier == Tier::nearest);
  CHECK(found[0].squared_distance > found[1].squared_distance);
  REQUIRE(found[0].expected);
  REQUIRE(found[1].expected);
  CHECK(*found[0].expected < *found[1].expected);
  CHECK(found[0].reason.find("expected here") != std::string::npos);
  CHECK(d.choose(near).configuration == cluster);  // measured there
  CHECK(d.choose(near).tier == Tier::exact);
  CHECK(!d.choose(near).expected);

  // Of two equal models the one that was faster than expected; what has no model comes behind, near or not.
  Profile fast = profile(far, smaller), slow = profile(near, cluster);
  fast.time = 0.9;
  slow.time = 9.0;
  const Dispatcher surprised = dispatcher({slow, fast, profile(here.with("rules", 363), graph)});
  CHECK(surprised.choose(here).configuration == smaller);
  CHECK(*surprised.choose(here).expected < *found[0].expected);
  const std::vector<Candidate> all = of_profiles(surprised.candidates(here));
  REQUIRE(all.size() >= 3);
  CHECK(all[2].configuration == graph);
  CHECK(!all[2].expected);
}

TEST_CASE("the shipped model of the kernels agrees with what was measured and committed") {
  ProfileStore store(":memory:", ProfileStore::Access::read_write);
  (void)import_profiles(store, HEDDLE_BENCH_RESULTS "/nvidia-h200/profiles.json");
  const KernelFamily& family = sonfin::train_family();
  const std::vector<Profile> profiles = store.profiles("sonfin-train");
  const auto model = choose_model(family, profiles.front().key.device, {});
  REQUIRE(model);
  double squares = 0.0, count = 0.0;
  for (const Profile& p : profiles) {
    CAPTURE(p.key.problem.text() + ": " + p.configuration);
    const auto estimate = model->estimate(family.space(p.key.device).parse(p.configuration));
    if (!estimate || std::isinf(estimate(p.key.problem))) continue;
    const double off = std::log(estimate(p.key.problem) / p.time);
    CHECK(std::abs(off) < 0.3);
    squares += off * off;
    ++count;
  }
  CHECK(count > 100);
  CHECK(std::sqrt(squares / count) < 0.08);

  // Left out one at a time: the choice is expected to be nearly as fast as what won there.
  for (std::size_t i = 0; i < profiles.size(); i += 7) {
    std::vector<Profile> others = profiles;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Dispatcher d(profiles[i].key.device, family, std::move(others));
    const Candidate choice = d.choose(profiles[i].key.problem);
    CAPTURE(profiles[i].key.problem.text());
    REQUIRE(choice.expected);
    CHECK(std::abs(std::log(*choice.expected / profiles[i].time)) < 0.3);
  }
}

TEST_CASE("a configuration comes once, with its best reason") {
  const auto all = configurations(kProblem);
  const Configuration standard = sonfin::train_family().default_configuration(kHere, kProblem);
  const auto candidates =
      dispatcher({profile(kProblem, standard), profile(sonfin::problem(512, 617, 26), standard)}).candidates(kProblem);
  REQUIRE(candidates.size() == 1);
  CHECK(candidates[0].tier == Tier::exact);
}

TEST_CASE("a configuration must be allowed at the actual sizes, not at those it was measured at") {
  const Problem wide = sonfin::problem(1024, 1024, 1);
  const Problem tiny = sonfin::problem(1, 1, 1);
  const SearchSpace space = sonfin::train_family().space(kHere);
  const auto all = configurations(wide);
  const auto too_wide = std::ranges::find_if(all, [&](const auto& c) { return space.violated(c, tiny).has_value(); });
  REQUIRE(too_wide != all.end());
  const Dispatcher d = dispatcher({profile(wide, *too_wide)});
  CHECK(d.choose(wide).configuration == *too_wide);
  CHECK_FALSE(has_profile(d.choose(tiny).tier));
  const auto explanation = d.explain(tiny);
  REQUIRE(explanation.rejections.size() == 1);
  CHECK(explanation.rejections[0].reason.find(*space.violated(*too_wide, tiny)) != std::string::npos);
}

TEST_CASE("what does not belong here is left out: other families, other backends, configurations outside the space") {
  const auto all = configurations(kProblem);
  Profile family = profile(kProblem, all[1]);
  family.key.family = "sonfin-predict";
  DeviceIdentity cpu = kHere;
  cpu.backend = "cpu";
  Profile outside = profile(kProblem, all[3]);
  outside.configuration = "scheme=magic";
  const Dispatcher d = dispatcher({family, profile(kProblem, all[2], cpu), outside});
  CHECK(d.choose(kProblem).tier == Tier::fallback);
  CHECK(d.explain(kProblem).rejections.size() == 1);
}

TEST_CASE("reasons say where a profile comes from and whether it was measured here") {
  const auto all = configurations(kProblem);
  Profile imported = profile(kProblem, all[1]);
  imported.imported = true;
  CHECK(dispatcher({imported}).choose(kProblem).reason.find("not measured here") != std::string::npos);
  const std::string stale = dispatcher({profile(kProblem, all[1], kHere, "old")}).choose(kProblem).reason;
  CHECK(stale.find("changed") != std::string::npos);
  const std::string text =
      dispatcher({imported, profile(sonfin::problem(32, 617, 26), all[2])}).explain(kProblem).text();
  CHECK(text.find("chosen   " + all[1].text()) != std::string::npos);
  CHECK(text.find("exact: ") != std::string::npos);
  CHECK(text.find("nearest: ") != std::string::npos);
  CHECK(text.find(kProblem.text()) != std::string::npos);
}

TEST_CASE("profiles whose sizes are not those of the family are left out, with the reason") {
  const auto all = configurations(kProblem);
  const std::vector<Problem> others{
      Problem(),
      Problem({{.name = "rules", .value = 640}}),
      Problem({{.name = "dim", .value = 617}, {.name = "rules", .value = 640}, {.name = "outputs", .value = 26}}),
      Problem({{.name = "rules", .value = 640}, {.name = "dim", .value = 617}, {.name = "knots", .value = 26}}),
      kProblem.with("rules", 0),
      kProblem.with("rules", (1 << 20) + 1)};
  std::vector<Profile> profiles{profile(kProblem, all[1])};
  for (const Problem& other : others) profiles.push_back(profile(other, all[2]));
  const Dispatcher d = dispatcher(profiles);
  REQUIRE(d.left_out().size() == others.size());
  for (const Dispatcher::Rejection& rejection : d.left_out()) {
    CHECK(rejection.profile->configuration == all[2].text());
    CHECK(rejection.reason.find("expected") != std::string::npos);
  }
  CHECK(d.choose(kProblem).configuration == all[1]);
  CHECK(d.choose(sonfin::problem(64, 617, 26)).tier == Tier::nearest);
  const auto explanation = d.explain(kProblem);
  CHECK(explanation.candidates.size() == 2);
  CHECK(explanation.rejections.size() == others.size());
}

}  // namespace
}  // namespace heddle
