#include "heddle/tuner/remeasure.hpp"

#include <doctest/doctest.h>

#include "fake_evaluator.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "tuner/temporary_store.hpp"

using namespace heddle;

namespace {

Profile imported(const std::string& configuration) {
  Profile profile;
  profile.key = {.device = fake::identity(), .family = "fake", .problem = fake::problem(8)};
  profile.kernels.source_hash = std::string(32, '0');
  profile.configuration = configuration;
  profile.time = 99.0;
  profile.samples = 64;
  profile.imported = true;
  return profile;
}

}  // namespace

TEST_CASE("a profile that passes gets new figures and is imported no longer") {
  const TemporaryStore temporary;
  const fake::Family family;
  fake::FakeEvaluator evaluator(family);
  const Profile profile = imported("kind=good width=7 depth=4");
  temporary.store.keep(profile);
  const Remeasured result = remeasure(evaluator, temporary.store, profile);
  CHECK(result.verdict.status == Status::correct);
  CHECK(result.before == 99.0);
  REQUIRE(result.profile);
  const auto kept = temporary.store.find(profile.key);
  REQUIRE(kept);
  CHECK(kept->time == doctest::Approx(2.0).epsilon(0.05));
  CHECK(!kept->imported);
  CHECK(kept->kernels.source_hash == family.source("").hash());
  CHECK(temporary.store.measurements().size() == 1);
}

TEST_CASE("a profile that is wrong goes, one that cannot be tried stays") {
  const fake::Family family;
  struct Case {
    Status fate;
    bool removed;
  };
  for (const Case& one : {Case{Status::wrong_result, true}, Case{Status::overrun, true}, Case{Status::launch, false},
                          Case{Status::compilation, false}}) {
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family);
    evaluator.fate = [&](const Configuration&) { return one.fate; };
    const Profile profile = imported("kind=good width=7 depth=4");
    temporary.store.keep(profile);
    const Remeasured result = remeasure(evaluator, temporary.store, profile);
    CHECK(result.verdict.status == one.fate);
    CHECK(result.removed == one.removed);
    CHECK(!result.profile);
    CHECK(temporary.store.find(profile.key).has_value() != one.removed);
    REQUIRE(temporary.store.measurements().size() == 1);
    CHECK(temporary.store.measurements().front().times.empty());
  }
}

TEST_CASE("a local profile that an import displaced comes back if it is the better one") {
  const fake::Family family;
  struct Case {
    double local;  ///< the imported one takes 2 us here, whatever its file said
    Status fate;
    bool restored;
  };
  for (const Case& one :
       {Case{1.5, Status::correct, true}, Case{3.0, Status::correct, false}, Case{3.0, Status::wrong_result, true},
        Case{3.0, Status::hang, true}, Case{3.0, Status::launch, true}}) {
    CAPTURE(text(one.fate));
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family);
    evaluator.fate = [&](const Configuration&) { return one.fate; };
    if (one.fate == Status::hang) {
      evaluator.cost = [](const Configuration&, const Problem&) -> double {
        throw DeviceFailure(Status::hang, "did not end");
      };
    }
    Profile local = imported("kind=good width=6 depth=4");
    local.kernels.source_hash = family.source("").hash();
    local.imported = false;
    local.time = one.local;
    temporary.store.keep(local);
    const Profile arriving = imported("kind=good width=7 depth=4");
    temporary.store.keep_for_now(arriving);
    REQUIRE(temporary.store.find(local.key)->imported);
    CHECK(temporary.store.displaced(local.key)->configuration == local.configuration);
    const Remeasured result = remeasure(evaluator, temporary.store, arriving);
    CHECK(result.restored == one.restored);
    CHECK(!result.removed);
    const auto kept = temporary.store.find(local.key);
    REQUIRE(kept);
    CHECK(!kept->imported);
    CHECK(kept->configuration == (one.restored ? local : arriving).configuration);
    CHECK(kept->time == doctest::Approx(one.restored ? one.local : 2.0).epsilon(0.05));
    CHECK(!temporary.store.displaced(local.key));
  }
}

TEST_CASE("a configuration that the space no longer has is a failed constraint") {
  const TemporaryStore temporary;
  const fake::Family family;
  fake::FakeEvaluator evaluator(family);
  for (const char* text : {"kind=removed width=1 depth=1", "kind=good width=1 depth=10"}) {
    const Remeasured result = remeasure(evaluator, temporary.store, imported(text));
    CHECK(result.verdict.status == Status::constraint);
    CHECK(!result.verdict.message.empty());
  }
}

TEST_CASE("a profile whose objective has no value here is said to be unverified, and stays") {
  const fake::Family family;
  for (const char* const objective : {"banana", "time +", "energy"}) {  // no name, no expression, not measured here
    CAPTURE(objective);
    const TemporaryStore temporary;
    fake::FakeEvaluator evaluator(family);
    Profile profile = imported("kind=good width=7 depth=4");
    profile.key.goal = Goal::of(objective);
    temporary.store.keep(profile);
    const Remeasured result = remeasure(evaluator, temporary.store, profile);
    CHECK(result.verdict.status == Status::unverified);
    CHECK(!result.verdict.message.empty());
    CHECK(!result.removed);
    REQUIRE(temporary.store.find(profile.key));
    CHECK(temporary.store.find(profile.key)->imported);
  }
}

TEST_CASE("a profile of another device is refused") {
  const TemporaryStore temporary;
  const fake::Family family;
  fake::FakeEvaluator evaluator(family);
  Profile profile = imported("kind=good width=1 depth=1");
  profile.key.device.name = "another";
  CHECK_THROWS_AS((void)remeasure(evaluator, temporary.store, profile), Error);
}
