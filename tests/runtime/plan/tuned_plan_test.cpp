#include "heddle/runtime/plan/tuned_ladder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "runtime/dispatch/fake_device.hpp"

namespace heddle {
namespace {

using sonfin::rung_capacities;

const DeviceIdentity kDevice{.backend = "cuda",
                             .name = "Card",
                             .architecture = "9.0",
                             .units = 132,
                             .memory_gib = 140,
                             .cache_bytes = 50 << 20,
                             .local_bytes = 227 << 10};
const KernelFamily& family() { return sonfin::train_family(); }

std::vector<Problem> problems(std::int64_t cap) {
  std::vector<Problem> all;
  for (const std::int64_t rules : rung_capacities(cap)) all.push_back(sonfin::problem(rules, 16, 10));
  return all;
}

std::shared_ptr<const Dispatcher> dispatcher(std::vector<Profile> profiles) {
  return std::make_shared<const Dispatcher>(kDevice, family(), std::move(profiles));
}

TunedLadder ladder_to(Device& device, std::int64_t cap, std::vector<Profile> profiles, const Notice& notice = {}) {
  return {device, dispatcher(std::move(profiles)), sonfin::problem(cap, 16, 10), "rules", rung_capacities(cap), notice};
}

Profile profile(const Problem& problem, const Configuration& configuration, const std::string& hash) {
  Profile p;
  p.key = {.device = kDevice, .family = "sonfin-train", .problem = problem};
  p.kernels.source_hash = hash == "now" ? family().source(kDevice.backend).hash() : hash;
  p.configuration = configuration.text();
  p.time = 1.0;
  return p;
}

/// Configurations with different kernels that are allowed at every rung.
std::vector<Configuration> configurations(const std::vector<Problem>& rungs, std::size_t count) {
  const SearchSpace space = family().space(kDevice);
  std::vector<Configuration> found;
  std::vector<Kernels> kernels{family().kernels(family().default_configuration(kDevice, rungs[0]), rungs[0], kDevice)};
  for (const Configuration& c : space.enumerate(rungs.front())) {
    if (found.size() == count) break;
    if (std::ranges::any_of(rungs, [&](const Problem& p) { return space.violated(c, p).has_value(); })) continue;
    auto own = family().kernels(c, rungs.front(), kDevice);
    if (std::ranges::find(kernels, own) != kernels.end()) continue;
    kernels.push_back(std::move(own));
    found.push_back(c);
  }
  REQUIRE(found.size() == count);
  return found;
}

TEST_CASE("rungs are powers of two and their midpoints, and the cap itself") {
  CHECK(rung_capacities(1) == std::vector<std::int64_t>{1});
  CHECK(rung_capacities(32) == std::vector<std::int64_t>{32});
  CHECK(rung_capacities(33) == std::vector<std::int64_t>{32, 33});
  CHECK(rung_capacities(48) == std::vector<std::int64_t>{32, 48});
  CHECK(rung_capacities(500) == std::vector<std::int64_t>{32, 48, 64, 96, 128, 192, 256, 384, 500});
  CHECK_THROWS_AS(rung_capacities(0), Error);
}

TEST_CASE("everything is compiled in one batch, each kernel once, and rules find their rung") {
  test::FakeDevice device(kDevice);
  const TunedLadder ladder = ladder_to(device, 500, {});
  REQUIRE(device.batches.size() == 1);
  std::set<Kernels> different(device.batches[0].begin(), device.batches[0].end());
  CHECK(different.size() == device.batches[0].size());
  CHECK(ladder.at(0) == 0);
  CHECK(ladder.at(32) == 0);
  CHECK(ladder.at(33) == 1);
  CHECK(ladder.at(500) == ladder.size() - 1);
  CHECK(ladder.at(9999) == ladder.size() - 1);
  CHECK(ladder.size() == rung_capacities(500).size());
  CHECK(ladder[2].problem() == sonfin::problem(ladder.capacity(2), 16, 10));
  CHECK_FALSE(ladder[2].prepared());
  CHECK_THROWS_AS(static_cast<void>(ladder[2].execution()), Error);
}

TEST_CASE("the choice depends on the rule count: each rung has its own") {
  test::FakeDevice device(kDevice);
  const auto rungs = problems(64);
  const auto c = configurations(rungs, 2);
  const TunedLadder ladder =
      ladder_to(device, 64, {profile(rungs.front(), c[0], "now"), profile(rungs.back(), c[1], "now")});
  CHECK(ladder[0].configuration() == c[0]);
  CHECK(ladder[ladder.size() - 1].configuration() == c[1]);
  CHECK(device.batches.size() == 1);
}

TEST_CASE("where a candidate does not compile or load, the next one runs, with a notice") {
  test::FakeDevice device(kDevice);
  const auto rungs = problems(48);
  const auto c = configurations(rungs, 3);
  const auto kernels = [&](const Configuration& configuration) {
    return family().kernels(configuration, rungs[0], kDevice);
  };
  device.refuses_to_compile.insert(kernels(c[0]));
  device.refuses_to_load.insert(kernels(c[1]));
  std::vector<std::string> notices;
  TunedLadder ladder = ladder_to(device, 48,
                                 {profile(rungs[0], c[0], "now"), profile(sonfin::problem(40, 16, 10), c[1], "now"),
                                  profile(sonfin::problem(4096, 16, 10), c[2], "now")},
                                 [&](const std::string& line) { notices.push_back(line); });
  CHECK(ladder[0].configuration() == c[1]);
  const auto compile_notices = notices.size();
  CHECK(compile_notices >= 1);
  CHECK(notices[0].find("error: no") != std::string::npos);
  CHECK(notices[0].find("more lines") == std::string::npos);

  int probes = 0;
  Execution& execution = ladder[0].prepare({.samples = 4, .bind = {}, .probe = [&](const TunedPlan& plan, Execution&) {
                                              probes += plan.configuration() == c[2];
                                            }});
  CHECK(ladder[0].configuration() == c[2]);
  CHECK(probes == 1);
  CHECK(ladder[0].prepared());
  CHECK(&execution == &ladder[0].execution());
  CHECK(execution.plan().samples == 4);
  CHECK(notices.size() == compile_notices + 1);
  CHECK(notices.back().find("does not load") != std::string::npos);
}

TEST_CASE("a choice of other sizes that spills registers here alone is passed over, what was measured here is not") {
  test::FakeDevice device(kDevice);
  const Problem here = sonfin::problem(96, 16, 10), near = sonfin::problem(80, 16, 10),
                far = sonfin::problem(96, 32, 10);
  const auto kernels = [&](const Configuration& configuration, const Problem& problem) {
    return family().kernels(configuration, problem, kDevice);
  };
  const auto cluster = [](int vector) {
    return family().space(kDevice).parse(fmt::format(
        "scheme=cluster coarsen_count=1 block_size=128 threads_per_rule=4 vector={} storage=registers", vector));
  };
  const std::vector c{cluster(1), cluster(2)};
  REQUIRE(kernels(c[0], here) == kernels(c[0], near));
  REQUIRE(kernels(c[0], here) != kernels(c[0], far));
  const Configuration untuned = family().default_configuration(kDevice, here);
  const auto fast = [](const Problem& problem, const Configuration& configuration) {
    Profile measured = profile(problem, configuration, "now");
    measured.time = 1e-3;  // so that it is expected to be faster here than the default
    return measured;
  };
  std::vector<std::string> notices;
  const auto plan = [&](const std::vector<Profile>& profiles) {
    notices.clear();
    return TunedPlan::choose(device, dispatcher(profiles), here,
                             [&](const std::string& line) { notices.push_back(line); });
  };
  const std::vector borrowed{fast(far, c[0])};
  const auto candidates = dispatcher(borrowed)->candidates(here);
  REQUIRE(candidates.size() > 1);
  const Configuration next = candidates[1].configuration;

  device.spills[kernels(c[0], here)] = 128;
  CHECK(plan(borrowed).configuration() == c[0]);
  CHECK(notices.empty());

  device.spills[kernels(c[0], here)] = 129;
  TunedPlan spilled = plan(borrowed);
  CHECK(spilled.configuration() == next);
  CHECK(notices == std::vector{"sonfin-train at " + here.text() + ": " + c[0].text() +
                               " passed over (a thread takes 129 bytes of local memory, 0 for " + far.text() +
                               "); using " + next.text() + " instead"});
  CHECK(plan({fast(far, c[0]), fast(far.with("rules", 95), c[1])}).configuration() == c[1]);

  SUBCASE("it takes as much where it was measured") {
    device.spills[kernels(c[0], far)] = 1;
    CHECK(plan(borrowed).configuration() == c[0]);
    CHECK(plan({fast(near, c[0])}).configuration() == c[0]);
    CHECK(notices.empty());
  }
  SUBCASE("nobody knows what it takes where it was measured") {
    device.refuses_to_compile.insert(kernels(c[0], far));
    CHECK(plan(borrowed).configuration() == next);
  }
  SUBCASE("it was measured here") {
    CHECK(plan({profile(here, c[0], "now")}).configuration() == c[0]);
    CHECK(notices.empty());
  }
  SUBCASE("where all spill, the default runs, which is never passed over") {
    for (const Candidate& each : candidates) device.spills[kernels(each.configuration, here)] = 4000;
    CHECK(plan(borrowed).configuration() == untuned);
    CHECK(notices.size() == candidates.size() - 1);
    CHECK(plan({fast(far, untuned)}).configuration() == untuned);
    CHECK(notices.empty());
  }
  SUBCASE("where all others fail, it runs after all") {
    for (std::size_t i = 1; i < candidates.size(); ++i)
      device.refuses_to_load.insert(kernels(candidates[i].configuration, here));
    static_cast<void>(spilled.prepare({.samples = 4, .bind = {}, .probe = {}}));
    CHECK(spilled.configuration() == c[0]);
  }
}

TEST_CASE("a failing probe counts like a failing launch, and the last failure is passed on") {
  test::FakeDevice device(kDevice);
  const auto rungs = problems(32);
  const auto c = configurations(rungs, 1);
  TunedPlan plan = TunedPlan::choose(device, dispatcher({profile(rungs[0], c[0], "now")}), rungs[0]);
  std::vector<Configuration> tried;
  const auto probe = [&](const TunedPlan& present, Execution&) {
    tried.push_back(present.configuration());
    throw DeviceFailure(Status::launch, "bad launch");
  };
  CHECK_THROWS_WITH_AS(plan.prepare({.samples = 1, .bind = {}, .probe = probe}), "bad launch", DeviceFailure);
  CHECK_FALSE(plan.prepared());
  CHECK(tried == std::vector{c[0], family().default_configuration(kDevice, rungs[0])});
}

TEST_CASE("where the device may be lost, no other candidate is tried; where memory is short, the next one is") {
  test::FakeDevice device(kDevice);
  const auto rungs = problems(32);
  const auto c = configurations(rungs, 1);
  const auto tries_until = [&](Status status) {
    TunedPlan plan = TunedPlan::choose(device, dispatcher({profile(rungs[0], c[0], "now")}), rungs[0]);
    int tries = 0;
    const auto probe = [&](const TunedPlan&, Execution&) {
      ++tries;
      throw DeviceFailure(status, "no");
    };
    CHECK_THROWS_AS(plan.prepare({.samples = 1, .bind = {}, .probe = probe}), DeviceFailure);
    return tries;
  };
  CHECK(tries_until(Status::illegal_access) == 1);
  CHECK(tries_until(Status::hang) == 1);
  CHECK(tries_until(Status::out_of_memory) == 2);
  CHECK(tries_until(Status::launch) == 2);
}

TEST_CASE("a row of candidates: each has its turn until all have failed, and the row can start again") {
  const auto rungs = problems(32);
  const auto c = configurations(rungs, 1);
  const auto choices = dispatcher({profile(rungs[0], c[0], "now")});
  CandidateRow row(*choices, rungs[0]);
  CHECK(row.problem() == rungs[0]);
  CHECK(row.current().configuration == c[0]);
  CHECK(row.failures().empty());
  const auto line = row.fail("no room");
  REQUIRE(line);
  const Configuration untuned = family().default_configuration(kDevice, rungs[0]);
  CHECK(row.current().configuration == untuned);
  CHECK(*line == "sonfin-train at " + rungs[0].text() + ": " + c[0].text() + " failed (no room); using " +
                     untuned.text() + " instead");
  CHECK_FALSE(row.exhausted());
  CHECK_FALSE(row.fail("no room either"));
  CHECK(row.exhausted());
  CHECK(row.current().configuration == untuned);
  CHECK(row.failures() == std::vector{c[0].text() + " (no room)", untuned.text() + " (no room either)"});
  CHECK_FALSE(row.fail("still none"));
  row.start_again();
  CHECK(row.current().configuration == c[0]);
  CHECK(row.failures().size() == 3);
  CHECK(row.fail("again"));
  CHECK(row.failures() == std::vector{c[0].text() + " (again)"});
}

TEST_CASE("a row of candidates: one that is passed over has its turn after all others") {
  const auto rungs = problems(32);
  const auto c = configurations(rungs, 1);
  const auto choices = dispatcher({profile(rungs[0], c[0], "now")});
  CandidateRow row(*choices, rungs[0]);
  const Configuration untuned = family().default_configuration(kDevice, rungs[0]);
  const auto first = row.turn();
  CHECK(row.pass_over("it spills") == "sonfin-train at " + rungs[0].text() + ": " + c[0].text() +
                                          " passed over (it spills); using " + untuned.text() + " instead");
  CHECK(row.turn() != first);
  CHECK(row.current().configuration == untuned);
  CHECK_FALSE(row.current().passed_over);
  CHECK(row.fail("no room"));
  CHECK(row.current().configuration == c[0]);
  CHECK(row.current().passed_over);
  CHECK(row.failures() == std::vector{c[0].text() + " (passed over: it spills)", untuned.text() + " (no room)"});
  CHECK_FALSE(row.fail("no room either"));
  CHECK(row.exhausted());
}

TEST_CASE("stale profiles are used with one notice") {
  test::FakeDevice device(kDevice);
  const auto rungs = problems(64);
  const auto c = configurations(rungs, 1);
  std::vector<std::string> notices;
  const TunedLadder ladder = ladder_to(device, 64, {profile(rungs[0], c[0], "before")},
                                       [&](const std::string& line) { notices.push_back(line); });
  CHECK(ladder[0].candidate().tier == Tier::stale);
  CHECK(notices.size() == 1);
}

TEST_CASE("profiles with other sizes are left out with one notice") {
  test::FakeDevice device(kDevice);
  const auto rungs = problems(64);
  const auto c = configurations(rungs, 1);
  const Problem other({{.name = "rules", .value = 32}});
  std::vector<std::string> notices;
  const TunedLadder ladder = ladder_to(
      device, 64,
      {profile(other, c[0], "now"), profile(rungs[0], c[0], "now"), profile(other.with("rules", 48), c[0], "now")},
      [&](const std::string& line) { notices.push_back(line); });
  CHECK(ladder[0].configuration() == c[0]);
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].find("dim=<number>") != std::string::npos);
  CHECK(notices[0].find("1 more") != std::string::npos);
}

TEST_CASE("a ladder may grow on any axis") {
  test::FakeDevice device(kDevice);
  const TunedLadder ladder(device, dispatcher({}), sonfin::problem(32, 16, 8), "outputs", {2, 8});
  CHECK(ladder[0].problem() == sonfin::problem(32, 16, 2));
  CHECK(ladder.at(2) == 0);
  CHECK(ladder.at(3) == 1);
  CHECK(ladder.at(32) == 1);
}

}  // namespace
}  // namespace heddle
