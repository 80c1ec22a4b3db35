// What a run does with the profiles that are there.
#include "heddle/tuner/known_profiles.hpp"

#include <doctest/doctest.h>

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

}  // namespace

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
