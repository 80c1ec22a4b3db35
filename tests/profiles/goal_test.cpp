// Profiles of the same problem that were found for different goals.
#include "heddle/profiles/goal.hpp"

#include <SQLiteCpp/Database.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "heddle/kernels/expression/expression.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/profiles/exchange.hpp"
#include "profiles/support.hpp"

namespace heddle {
namespace {

using namespace test;
using nlohmann::json;
using Action = ImportDecision::Action;
namespace fs = std::filesystem;

Profile profile_for(const Goal& goal, double time, std::optional<double> value = {}) {
  Profile made = profile(key(), time);
  made.key.goal = goal;
  made.value = value;
  return made;
}

const Goal kEnergy = Goal::of("energy"), kCold = Goal::of("time", true);

ProfileStore memory() { return {":memory:", ProfileStore::Access::read_write}; }

/// `record` with a checksum of what it has become.
void sign_again(json& record) {
  record.erase("checksum");
  record["checksum"] = digest(record.dump());
}

/// Imports a document after `change` of its first record, which is signed again.
template <class Change>
std::string refused_after(const Change& change) {
  const Folder folder;
  ProfileStore store = memory();
  store.keep(profile_for(kEnergy, 2.0, 0.5));
  REQUIRE(export_profiles(store, folder / "p.json").count == 1);
  json document = json::parse(contents(folder / "p.json"));
  json& record = document["profiles"][0];
  change(record);
  sign_again(record);
  write(folder / "p.json", document.dump());
  return complaint([&] { import_profiles(store, folder / "p.json"); }, ErrorKind::input);
}

TEST_CASE("a goal is one line, and texts of one objective are one goal") {
  CHECK(Goal().is_usual());
  CHECK(Goal::of("time") == Goal());
  CHECK(Goal::of(" energy\n *\t\ttime ").objective == "energy * time");
  for (const char* const text : {"time*time", "time  * time", "(time)*time", "((time * time))", "time\n*\ttime"}) {
    CHECK(Goal::of(text).objective == "time * time");
  }
  CHECK(Goal::of("(time)").is_time());
  CHECK(Goal::of("time * (energy + time)").objective == "time * (energy + time)");
  CHECK(Goal::of("time * (energy * time)") != Goal::of("time * energy * time"));  // they round differently
  CHECK(Goal::of(" what  no heddle\nreads ").objective == "what no heddle reads");
  std::string chain = "time";
  while (chain.size() + 5 <= Expression::kLongest) chain += "*time";  // its normal form is no expression
  CHECK(Goal::of(chain).objective == chain);
  CHECK(Goal::of(" " + chain) == Goal::of(chain));
  CHECK(Goal::of("energy").text() == "energy");
  CHECK(kCold.text() == "time, cold cache");
  CHECK(kCold.is_time());
  CHECK_FALSE(kCold.is_usual());
}

TEST_CASE("profiles of different goals are kept side by side, and only who asks for a goal gets its profile") {
  ProfileStore store = memory();
  store.keep(profile_for({}, 2.0));
  store.keep(profile_for(kEnergy, 5.0, 0.25));
  store.keep(profile_for(kCold, 9.0));
  CHECK(store.profiles().size() == 3);
  REQUIRE(store.find(key()));
  CHECK(store.find(key())->time == 2.0);
  REQUIRE(store.find(profile_for(kEnergy, 1.0).key));
  CHECK(store.find(profile_for(kEnergy, 1.0).key)->value == 0.25);
  REQUIRE(store.knowledge().profiles.size() == 1);
  CHECK(store.knowledge().profiles[0].time == 2.0);
  REQUIRE(store.knowledge("sonfin-train", kCold).profiles.size() == 1);
  CHECK(store.knowledge("sonfin-train", kCold).profiles[0].time == 9.0);
  CHECK(store.knowledge("", Goal::of("energy * time")).profiles.empty());

  // By the value of the objective, not by the time.
  CHECK_FALSE(store.keep_if_better(profile_for(kEnergy, 1.0, 0.5)));
  CHECK(store.keep_if_better(profile_for(kEnergy, 8.0, 0.125)));
  CHECK(store.find(key())->time == 2.0);
  store.keep(profile_for(Goal::of("energy * time"), 3.0));  // from a database that did not keep the value
  CHECK(store.keep_if_better(profile_for(Goal::of("energy * time"), 4.0, 7.0)));

  store.remove(profile_for(kEnergy, 1.0).key);
  CHECK(store.profiles().size() == 3);
  CHECK_FALSE(store.find(profile_for(kEnergy, 1.0).key));
}

TEST_CASE("a profile that an import displaces comes back for its own goal") {
  ProfileStore store = memory();
  store.keep(profile_for({}, 2.0));
  store.keep(profile_for(kEnergy, 5.0, 0.25));
  store.keep_for_now(profile_for(kEnergy, 5.0, 0.125));
  CHECK_FALSE(store.displaced(key()));
  REQUIRE(store.displaced(profile_for(kEnergy, 1.0).key));
  CHECK_FALSE(store.restore_displaced(key()));
  CHECK(store.restore_displaced(profile_for(kEnergy, 1.0).key));
  CHECK(store.find(profile_for(kEnergy, 1.0).key)->value == 0.25);
  CHECK(store.find(key())->time == 2.0);
}

TEST_CASE("a run begins with the profiles of every goal, and its end forgets none of another goal") {
  ProfileStore store = memory();
  store.keep(profile_for({}, 2.0));
  store.keep(profile_for(kEnergy, 5.0, 0.25));
  Profile imported = profile_for(kEnergy, 5.0, 0.125);
  imported.imported = true;
  store.keep_for_now(imported);
  const TuningRun run = store.begin_run("a task");
  CHECK(store.profiles_before(run).size() == 2);
  store.end_run(run, true);
  CHECK(store.displaced(imported.key));  // it is still waiting to be measured
  imported.imported = false;
  store.keep(imported);
  store.end_run(store.begin_run("another"), true);
  CHECK_FALSE(store.displaced(imported.key));
}

TEST_CASE("goals are carried, in a document that an earlier heddle refuses") {
  const Folder folder;
  ProfileStore from = memory(), to = memory();
  from.keep(profile_for({}, 2.0));
  CHECK(export_profiles(from, folder / "p.json").count == 1);
  CHECK(json::parse(contents(folder / "p.json"))["schema"] == 1);  // which every heddle reads
  from.keep(profile_for(kEnergy, 5.0, 0.25));
  from.keep(profile_for(kCold, 9.0));
  CHECK(export_profiles(from, folder / "p.json").count == 3);
  CHECK(json::parse(contents(folder / "p.json"))["schema"] == 2);

  for (const ImportDecision& each : import_profiles(to, folder / "p.json").profiles)
    CHECK(each.action == Action::added);
  CHECK(to.knowledge().profiles.size() == 1);
  CHECK(to.find(profile_for(kEnergy, 1.0).key)->value == 0.25);
  for (const ImportDecision& each : import_profiles(to, folder / "p.json").profiles) CHECK(each.action == Action::same);

  to.keep(profile_for(kEnergy, 1.0, 0.5));  // faster, and worse
  to.keep(profile_for(kCold, 1.0));         // better
  for (const ImportDecision& each : import_profiles(to, folder / "p.json").profiles) {
    CAPTURE(each.profile.key.goal.text());
    if (each.profile.key.goal == kEnergy) {
      CHECK(each.action == Action::replaced);
      CHECK(each.reason == "the local profile is worse: energy 0.5 against 0.25");
    } else {
      CHECK(each.action == (each.profile.key.goal == kCold ? Action::kept_local : Action::same));
    }
  }
}

TEST_CASE("goals that no heddle writes are refused") {
  CHECK(contains(refused_after([](json& record) { record["objective"] = 7; }), "objective"));
  CHECK(contains(refused_after([](json& record) { record["objective"] = ""; }), "objective is ''"));
  CHECK(contains(refused_after([](json& record) { record["objective"] = "energy\nenergy"; }), "one line"));
  CHECK(contains(refused_after([](json& record) { record["objective"] = " energy"; }), "objective is ' energy'"));
  CHECK(contains(refused_after([](json& record) { record["cold_cache"] = 1; }), "true or false"));
  CHECK(contains(refused_after([](json& record) { record.erase("cold_cache"); }), "cold_cache is missing"));
  CHECK(contains(refused_after([](json& record) { record["objective_value"] = -1; }), "a number above 0"));
  CHECK(contains(refused_after([](json& record) { record["objective"] = "time"; }), "where the objective is the time"));
}

TEST_CASE("a database of the seventh schema: an objective that was written with many blanks") {
  const Folder folder;
  fs::copy_file(fs::path(HEDDLE_GOLDEN) / "profiles-schema-7.sqlite", folder / "p");
  const int changed =
      SQLite::Database((folder / "p").string(), SQLite::OPEN_READWRITE)
          .exec("UPDATE runs SET task = replace(task, 'energy * time', 'energy   *' || char(9, 32, 13) || 'time')");
  CHECK(changed > 0);
  ProfileKey with_goal = key(102);
  with_goal.goal = Goal::of("energy * time");
  CHECK(ProfileStore(folder / "p", kRead).find(with_goal));
}

TEST_CASE("a document whose objective has not its normal form, as an earlier heddle wrote it") {
  const Folder folder;
  ProfileStore store = memory();
  store.keep(profile_for(Goal::of("energy * time"), 2.0, 0.5));
  REQUIRE(export_profiles(store, folder / "p.json").count == 1);
  json document = json::parse(contents(folder / "p.json"));
  json& record = document["profiles"][0];
  record["objective"] = "energy*time";
  sign_again(record);
  write(folder / "p.json", document.dump());
  for (const ImportDecision& each : import_profiles(store, folder / "p.json").profiles) {
    CHECK(each.action == Action::same);
    CHECK(each.profile.key.goal == Goal::of("energy * time"));
  }
}

TEST_CASE("a database of the eighth schema: of the texts of one objective the best profile stays") {
  const Folder folder;
  fs::copy_file(fs::path(HEDDLE_GOLDEN) / "profiles-schema-8.sqlite", folder / "p");
  for (const auto access : {kRead, kWrite}) {
    const ProfileStore store(folder / "p", access);
    CHECK(store.profiles().size() == 6);
    CHECK(store.find(key())->time == 2.5);
    const auto kept = [&](std::int64_t rules, const Goal& goal) {
      ProfileKey where = key(rules);
      where.goal = goal;
      const auto found = store.find(where);
      REQUIRE(found);
      return std::pair(found->time, found->value);
    };
    using Kept = std::pair<double, std::optional<double>>;
    const Goal square = Goal::of("time*time");
    CHECK(kept(101, square) == Kept{1.0, 1.0});                       // of three
    CHECK(kept(102, Goal()) == Kept{3.0, {}});                        // for "(time)", faster than that for "time"
    CHECK(kept(103, Goal::of("time*time", true)) == Kept{2.0, 4.0});  // for itself
    CHECK(kept(104, Goal::of("energy*time")) == Kept{2.0, 7.0});      // the other one's value is not known
    CHECK(kept(105, square) == Kept{5.0, 25.0});
    ProfileKey displaced = key(105);
    displaced.goal = square;
    REQUIRE(store.displaced(displaced));
    CHECK(store.displaced(displaced)->value == 36.0);
  }
}

TEST_CASE("a document with a profile for each text of one objective, as an earlier heddle wrote it") {
  const Folder folder;
  const Goal square = Goal::of("time * time");
  const ProfileKey where = profile_for(square, 1.0).key;
  ProfileStore from = memory();
  from.keep(profile_for(square, 2.0, 4.0));
  REQUIRE(export_profiles(from, folder / "p.json").count == 1);
  json document = json::parse(contents(folder / "p.json"));
  json& list = document["profiles"];
  list.push_back(list[0]);
  list[1]["objective"] = "(time*time)";
  list[1]["time"] = 1.0;
  list[1]["objective_value"] = 1.0;
  sign_again(list[1]);
  for (const bool best_first : {false, true}) {
    CAPTURE(best_first);
    if (best_first) std::swap(list[0], list[1]);
    write(folder / "p.json", document.dump());
    ProfileStore to = memory();
    to.keep(profile_for(square, 3.0, 9.0));
    const auto decisions = import_profiles(to, folder / "p.json").profiles;
    REQUIRE(decisions.size() == 2);
    CHECK(decisions[0].action == Action::replaced);
    CHECK(decisions[1].action == (best_first ? Action::kept_local : Action::replaced));
    CHECK(to.profiles().size() == 1);
    CHECK(to.find(where)->value == 1.0);
    REQUIRE(to.displaced(where));
    CHECK(to.displaced(where)->value == 9.0);
  }
  list[1]["objective"] = list[0]["objective"];
  sign_again(list[1]);
  write(folder / "p.json", document.dump());
  CHECK(contains(complaint([&] { import_profiles(from, folder / "p.json"); }, ErrorKind::input),
                 "record 2: the same device, family, problem and objective as record 1"));
}

TEST_CASE("a document with a value of the time in brackets, as an earlier heddle wrote it") {
  const Folder folder;
  ProfileStore from = memory(), to = memory();
  from.keep(profile_for(Goal::of("time * time"), 2.0, 4.0));
  REQUIRE(export_profiles(from, folder / "p.json").count == 1);
  json document = json::parse(contents(folder / "p.json"));
  json& record = document["profiles"][0];
  record["objective"] = "(time)";
  record["objective_value"] = 2.0;
  sign_again(record);
  write(folder / "p.json", document.dump());
  import_profiles(to, folder / "p.json");
  REQUIRE(to.find(key()));
  CHECK(to.find(key())->time == 2.0);
  CHECK_FALSE(to.find(key())->value);
}

/// What becomes of the profiles with 101 rules of the eighth schema, after `changes`: the texts of their objective are
/// '( time * time )', 'time * time' and 'time*time', their values 9, 1 and 4.
struct Migrated {
  std::optional<double> kept, displaced;
};
Migrated migrated_after(const std::string& changes) {
  const Folder folder;
  fs::copy_file(fs::path(HEDDLE_GOLDEN) / "profiles-schema-8.sqlite", folder / "p");
  SQLite::Database((folder / "p").string(), SQLite::OPEN_READWRITE).exec(changes);
  const ProfileStore store(folder / "p", kWrite);
  ProfileKey where = key(101);
  where.goal = Goal::of("time*time");
  const auto value = [](const std::optional<Profile>& of) { return of ? of->value : std::nullopt; };
  return {.kept = value(store.find(where)), .displaced = value(store.displaced(where))};
}

TEST_CASE("a database of the eighth schema: values of different kernels are not compared, the newest ones stay") {
  const std::string stale = "UPDATE profiles SET source_hash = 'other', date = '2025-01-01T00:00:00Z' WHERE ";
  CHECK(migrated_after(stale + "objective = 'time * time'").kept == 4.0);  // the best one is stale
  CHECK(migrated_after(stale + "objective <> '( time * time )'").kept == 9.0);
  CHECK(migrated_after("UPDATE profiles SET contract_digest = 'other', date = '2025-01-01T00:00:00Z' "
                       "WHERE objective = 'time * time'")
            .kept == 4.0);
  // Of the newest kernels the best profile, though another one of them is newer.
  CHECK(migrated_after(stale + "objective = 'time * time'; UPDATE profiles SET date = '2026-02-01T00:00:00Z' "
                               "WHERE objective = '( time * time )'")
            .kept == 4.0);
  CHECK_FALSE(migrated_after(stale + "objective = 'time * time'").displaced);
}

TEST_CASE("a database of the eighth schema: a local profile that an imported one displaces is kept aside") {
  const Migrated imported = migrated_after("UPDATE profiles SET imported = 1 WHERE objective = 'time * time'");
  CHECK(imported.kept == 1.0);
  CHECK(imported.displaced == 4.0);  // the better one of two
  const Migrated local = migrated_after("UPDATE profiles SET imported = 1 WHERE objective <> 'time * time'");
  CHECK(local.kept == 1.0);
  CHECK_FALSE(local.displaced);
  const Migrated equal = migrated_after(
      "UPDATE profiles SET value = 1; UPDATE profiles SET imported = 1, time = 0.5 WHERE objective = 'time*time'");
  CHECK(equal.kept == 1.0);
  CHECK_FALSE(equal.displaced);  // the local one stays
}

TEST_CASE("whoever still writes objectives as the eighth schema had them damages nothing") {
  const Folder folder;
  const Goal square = Goal::of("time * time");
  const ProfileKey where = profile_for(square, 1.0).key;
  const auto write_as_before = [&](const char* text, double time, double value) {
    Profile made = profile_for(Goal::of("energy"), time, value);  // a row that another statement gives its text
    ProfileStore(folder / "p", kWrite).keep(made);
    SQLite::Database((folder / "p").string(), SQLite::OPEN_READWRITE)
        .exec(std::string("UPDATE profiles SET objective = '") + text + "' WHERE objective = 'energy'");
  };
  for (const auto access : {kRead, kWrite}) {  // who only reads leaves the file as it is
    write_as_before("time*time", 2.0, 4.0);
    const ProfileStore store(folder / "p", access);
    CHECK(store.knowledge("sonfin-train", square).profiles.size() == 1);
    REQUIRE(store.find(where));
    CHECK(store.find(where)->value == 4.0);
  }

  write_as_before("(time*time)", 1.0, 1.0);
  {
    const ProfileStore store(folder / "p", kRead);
    CHECK(store.profiles().size() == 1);
    CHECK(export_profiles(store, folder / "p.json").count == 1);
    ProfileStore other = memory();
    CHECK(import_profiles(other, folder / "p.json").profiles.size() == 1);
    CHECK(other.find(where)->value == 1.0);
  }
  write_as_before("(time)", 3.0, 3.0);
  {
    ProfileStore store(folder / "p", kWrite);
    CHECK(store.profiles().size() == 2);
    CHECK(store.find(key())->time == 3.0);
    CHECK_FALSE(store.keep_if_better(profile_for(square, 1.5, 2.25)));
  }
  write_as_before("time*time", 2.0, 4.0);
  ProfileStore(folder / "p", kWrite).remove(where);
  CHECK_FALSE(ProfileStore(folder / "p", kRead).find(where));
  CHECK(ProfileStore(folder / "p", kRead).profiles().size() == 1);
}

TEST_CASE("a program that has the database open reads what another writes as the eighth schema had it") {
  const Folder folder;
  ProfileStore store(folder / "p", kWrite);
  store.keep(profile_for(kEnergy, 2.0, 2.0));
  SQLite::Database((folder / "p").string(), SQLite::OPEN_READWRITE).exec("UPDATE profiles SET objective = '(time)'");
  REQUIRE(store.profiles().size() == 1);
  CHECK(store.profiles()[0].key.goal == Goal());
  CHECK_FALSE(store.profiles()[0].value);
}

TEST_CASE("an objective in the database that no heddle writes is refused, not mended") {
  const Folder folder;
  ProfileStore(folder / "p", kWrite).keep(profile_for(kEnergy, 2.0, 2.0));
  SQLite::Database((folder / "p").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE profiles SET objective = 'energy' || char(10) || 'energy'");
  CHECK(contains(complaint([&] { (void)ProfileStore(folder / "p", kWrite).profiles(); }), "on one line"));
}

TEST_CASE("whoever still writes profiles as the seventh schema had them writes those of the time") {
  const Folder folder;
  ProfileStore(folder / "p", kWrite).keep(profile_for({}, 2.0));
  SQLite::Database database((folder / "p").string(), SQLite::OPEN_READWRITE);
  const std::string columns =
      "device, family, problem, source_hash, contract_digest, configuration, time, spread, "
      "worst_error, samples, ties, imported, provenance, date, run, record";
  database.exec("INSERT OR REPLACE INTO profiles (" + columns + ") SELECT " + columns + " FROM profiles");
  CHECK(ProfileStore(folder / "p", kRead).profiles().size() == 1);
}

TEST_CASE("a database of the seventh schema: the run that made a profile says what it is for") {
  const Folder folder;
  fs::copy_file(fs::path(HEDDLE_GOLDEN) / "profiles-schema-7.sqlite", folder / "p");
  for (const auto access : {kRead, kWrite}) {
    const ProfileStore store(folder / "p", access);
    const auto goal_of = [&](std::int64_t rules) {
      for (const Profile& each : store.profiles("sonfin-train")) {
        if (each.key.problem == key(rules).problem) return each.key.goal.text();
      }
      return std::string("none");
    };
    CHECK(store.profiles().size() == 9);
    CHECK(goal_of(640) == "time");  // of no run
    CHECK(goal_of(101) == "time");
    CHECK(goal_of(102) == "energy * time");
    CHECK(goal_of(103) == "time, cold cache");
    CHECK(goal_of(104) == "time, cold cache");
    CHECK(goal_of(105) == "time");  // the energy was measured as well, and did not decide
    ProfileKey with_goal = key(102);
    with_goal.goal = Goal::of("energy * time");
    REQUIRE(store.displaced(with_goal));
    CHECK(store.displaced(with_goal)->time == 9.0);
    CHECK_FALSE(store.find(with_goal)->value);
    CHECK(store.displaced(key())->time == 4.0);
    CHECK(store.knowledge("sonfin-train").profiles.size() == 4);
  }
}

}  // namespace
}  // namespace heddle
