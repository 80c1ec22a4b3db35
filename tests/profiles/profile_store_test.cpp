#include "heddle/profiles/profile_store.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "profiles/support.hpp"

namespace heddle {
namespace {

using namespace test;

TEST_CASE("measurements come back whole, newest first") {
  ProfileStore store(":memory:", kWrite);
  Measurement first = measurement();
  Measurement second = measurement(key(33));
  std::mt19937_64 random(std::random_device{}());
  second.times.clear();
  for (int i = 0; i < 100; ++i) second.times.push_back(std::ldexp(static_cast<double>(random()), -70));
  second.status = Status::wrong_result;
  second.message = "w'eft; DROP TABLE measurements; -- \xff\n\"two\" lines";
  second.worst_error = std::numeric_limits<double>::quiet_NaN();
  second.times.push_back(0.0);
  second.provenance.seed = std::numeric_limits<std::int64_t>::min();
  store.record({first, second});
  Measurement third = measurement();
  third.status = Status::compilation;
  third.times.clear();
  third.resources = KernelResources{.registers = 255, .shared_bytes = 49152, .local_bytes = 16, .occupancy = 0.125};
  third.energy = 0.75;
  store.record(third);

  const auto all = store.measurements();
  REQUIRE(all.size() == 3);
  CHECK(all[0].status == Status::compilation);
  CHECK(all[0].times.empty());
  CHECK(all[0].resources == third.resources);
  CHECK(all[0].energy == 0.75);
  CHECK(!all[1].resources);
  CHECK(!all[1].energy);
  CHECK(all[1].key == second.key);
  CHECK(all[1].times == second.times);
  CHECK(all[1].status == second.status);
  CHECK(all[1].message == second.message);
  CHECK(std::isinf(all[1].worst_error));
  CHECK(all[1].provenance == second.provenance);
  CHECK(all[2].kernels.source_hash == first.kernels.source_hash);
  CHECK(all[2].configuration == first.configuration);
  CHECK(all[2].times == first.times);
  CHECK(all[2].samples == first.samples);
  CHECK(all[2].compile_seconds == first.compile_seconds);
  CHECK(all[2].worst_error == first.worst_error);
  CHECK(all[2].provenance == first.provenance);

  CHECK(store.measurements(key(33)).size() == 1);
  CHECK(store.measurements(key()).size() == 2);
  CHECK(store.measurements(key(1)).empty());
}

TEST_CASE("one profile per key; its fields come back") {
  ProfileStore store(":memory:", kWrite);
  Profile kept = profile();
  kept.ties = {"a=1 b=2", "a=1 b=3"};
  kept.imported = true;
  store.keep(kept);
  REQUIRE(store.find(key()));
  CHECK(same(*store.find(key()), kept));
  CHECK(!store.find(key(641)));
  store.keep(profile(key(), 9.0));
  CHECK(same(*store.find(key()), profile(key(), 9.0)));
  CHECK(store.profiles().size() == 1);
}

TEST_CASE("profiles are listed in the order of their keys, by number and not by text") {
  ProfileStore store(":memory:", kWrite);
  for (const std::int64_t rules : {1024, 64, 256}) store.keep(profile(key(rules)));
  ProfileKey other = key(8);
  other.family = "sonfin-predict";
  store.keep(profile(other));
  std::vector<std::int64_t> rules;
  for (const Profile& each : store.profiles("sonfin-train")) rules.push_back(each.key.problem.at("rules"));
  CHECK(rules == std::vector<std::int64_t>{64, 256, 1024});
  CHECK(store.profiles().size() == 4);
  CHECK(store.profiles("sonfin-predict").size() == 1);
  CHECK(store.profiles("none").empty());
  store.remove(key(64));
  store.remove(key(65));
  CHECK(store.profiles("sonfin-train").size() == 2);
}

TEST_CASE("keep_if_better gives way to nothing but a local, current profile that is at least as fast") {
  ProfileStore store(":memory:", kWrite);
  CHECK(store.keep_if_better(profile(key(), 3.0)));
  CHECK(!store.keep_if_better(profile(key(), 3.0)));
  CHECK(!store.keep_if_better(profile(key(), 4.0)));
  CHECK(store.keep_if_better(profile(key(), 2.0)));
  Profile other_source = profile(key(), 5.0);
  other_source.kernels.source_hash = "ffffffffffffffffffffffffffffffff";
  CHECK(store.keep_if_better(other_source));
  Profile imported = profile(key(), 1.0);
  imported.imported = true;
  store.keep(imported);
  CHECK(store.keep_if_better(profile(key(), 6.0)));
  CHECK(store.find(key())->time == 6.0);
}

TEST_CASE("atomically: all or nothing") {
  ProfileStore store(":memory:", kWrite);
  CHECK_THROWS_AS(store.atomically([&] {
    store.keep(profile());
    store.record(measurement());
    throw std::runtime_error("the weft broke");
  }),
                  std::runtime_error);
  CHECK(store.profiles().empty());
  CHECK(store.measurements().empty());
  store.atomically([&] {
    store.keep(profile());
    store.record(measurement());
  });
  CHECK(store.profiles().size() == 1);
  CHECK(store.measurements().size() == 1);
}

TEST_CASE(
    "the digest of the contract is kept, with measurements, profiles and snapshots; another one makes another past") {
  ProfileStore store(":memory:", kWrite);
  Measurement m = measurement();
  m.kernels.contract_digest = std::string(32, 'c');
  store.record({m, measurement()});
  CHECK(store.measurements(key()).back().kernels == m.kernels);
  Profile p = profile();
  p.kernels.contract_digest = m.kernels.contract_digest;
  store.keep(p);
  CHECK(store.find(key())->kernels == p.kernels);
  const TuningRun run = store.begin_run("a task");
  CHECK(store.profiles_before(run).front().kernels == p.kernels);
  store.keep_for_now(p);
  CHECK(store.displaced(key())->kernels == p.kernels);

  CHECK(store.known(key(), m, run).size() == 2);
  CHECK(store.known(key(), measurement(), run).size() == 1);
  m.kernels.contract_digest = std::string(32, 'd');
  REQUIRE(store.known(key(), m, run).size() == 1);
  CHECK(store.known(key(), m, run).front().kernels.contract_digest.empty());

  // Times under another contract are not compared.
  Profile slower = p;
  slower.time = 2.0 * p.time;
  CHECK(!store.keep_if_better(slower));
  slower.kernels.contract_digest.clear();
  CHECK(!store.keep_if_better(slower));
  slower.kernels.contract_digest = std::string(32, 'd');
  CHECK(store.keep_if_better(slower));
}

TEST_CASE("prune removes what is outdated: of a family, a device and a version of the kernels") {
  ProfileStore store(":memory:", kWrite);
  const KernelVersion present{.source_hash = measurement().kernels.source_hash,
                              .contract_digest = std::string(32, 'c')};
  const KernelVersion past{.source_hash = std::string(32, 'f'), .contract_digest = {}};
  const KernelVersion other_launch{.source_hash = present.source_hash, .contract_digest = std::string(32, 'd')};
  const KernelVersion unknown_contract{.source_hash = present.source_hash, .contract_digest = {}};
  const auto add = [&](const std::string& family, const std::string& backend, const KernelVersion& version) {
    Measurement m = measurement();
    m.key.family = family;
    m.key.device.backend = backend;
    m.kernels = version;
    store.record({m, m});
    Profile p = profile();
    p.key = m.key;
    p.kernels = version;
    store.keep(p);
  };
  add("sonfin-train", "cuda", past);
  add("sonfin-train", "cpu", unknown_contract);
  add("sonfin-predict", "cuda", present);
  add("sonfin-predict", "cpu", other_launch);
  add("carpet", "cuda", past);
  const auto pruned =
      store.prune([&](const std::string& family, const DeviceIdentity& device, const KernelVersion& version) {
        CHECK(device.name == key().device.name);
        return family != "carpet" && !comparable(version, present);
      });
  CHECK(pruned.measurements == 4);
  CHECK(pruned.profiles == 2);
  CHECK(store.measurements().size() == 6);
  CHECK(store.profiles().size() == 3);
  CHECK(store.profiles("carpet").size() == 1);
  const auto none = [](const std::string&, const DeviceIdentity&, const KernelVersion&) { return false; };
  CHECK(store.prune(none).measurements == 0);
}

TEST_CASE("a file keeps what was recorded; reading a missing one creates nothing") {
  const Folder folder;
  const auto file = folder / "deep/er/p.sqlite";
  CHECK(ProfileStore(file, kRead).measurements().empty());
  CHECK(!std::filesystem::exists(file.parent_path()));
  {
    ProfileStore store(file, kWrite);
    CHECK(store.file() == file);
    store.record(measurement());
    ProfileStore moved = std::move(store);
    moved.keep(profile());
  }
  const ProfileStore store(file, kRead);
  CHECK(store.measurements().size() == 1);
  CHECK(store.profiles().size() == 1);
}

TEST_CASE("a store opened for reading refuses to write") {
  const Folder folder;
  CHECK(contains(complaint([&] { ProfileStore(folder / "p.sqlite", kRead).record(measurement()); }), "read-only"));
  ProfileStore(folder / "p.sqlite", kWrite).record(measurement());
  CHECK(contains(complaint([&] { ProfileStore(folder / "p.sqlite", kRead).record(measurement()); }), "read-only"));
}

TEST_CASE("processes that create and fill one database at once lose nothing") {
  const Folder folder;
  const auto file = folder / "p.sqlite";
  constexpr int kProcesses = 4, kRounds = 20;
  std::vector<pid_t> children;
  children.reserve(kProcesses);
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(start([&] {
      ProfileStore store(file, kWrite, builtin_families(), std::chrono::minutes(2));
      for (int round = 0; round < kRounds; ++round) {
        store.record({measurement(key(process + 1)), measurement()});
        store.keep_if_better(profile(key(), 100.0 + (round * 7 + process * 3) % 50));
      }
      return true;
    }));
  }
  for (const pid_t child : children) CHECK(succeeded(child));
  const ProfileStore store(file, kRead);
  CHECK(store.measurements().size() == 2 * kProcesses * kRounds);
  for (int process = 0; process < kProcesses; ++process) {
    CHECK(store.measurements(key(process + 1)).size() == kRounds);
  }
  double best = 1e9;
  for (int process = 0; process < kProcesses; ++process) {
    for (int round = 0; round < kRounds; ++round) best = std::min(best, 100.0 + (round * 7 + process * 3) % 50);
  }
  CHECK(store.find(key())->time == best);
}

TEST_CASE("a killed process leaves whole records alone") {
  const Folder folder;
  const auto file = folder / "p.sqlite";
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = start([&] {
    ProfileStore store(file, kWrite);
    for (;;) {
      store.record({measurement(), measurement(), measurement()});
      if (::write(ready[1], "x", 1) != 1) return false;
    }
  });
  char byte = 0;
  for (int i = 0; i < 3; ++i) REQUIRE(::read(ready[0], &byte, 1) == 1);
  ::kill(child, SIGKILL);
  CHECK(!succeeded(child));
  ::close(ready[0]);
  ::close(ready[1]);
  const std::size_t kept = ProfileStore(file, kRead).measurements().size();
  CHECK(kept >= 9);
  CHECK(kept % 3 == 0);
  ProfileStore(file, kWrite).record(measurement());
  CHECK(ProfileStore(file, kRead).measurements().size() == kept + 1);
}

TEST_CASE("where the database is by default") {
  // In processes of their own: the environment belongs to all tests.
  const auto is = [](const char* profiles, const char* data, const char* home, const std::string& expected) {
    return succeeded(start([&] {
      const auto set = [](const char* name, const char* value) {
        return value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
      };
      set("HEDDLE_PROFILES", profiles);
      set("XDG_DATA_HOME", data);
      set("HOME", home);
      if (!expected.empty()) return ProfileStore::default_file() == expected;
      return contains(complaint([] { static_cast<void>(ProfileStore::default_file()); }), "--profiles");
    }));
  };
  CHECK(is("/a/p.db", "/data", "/home/x", "/a/p.db"));
  CHECK(is("", "/data", "/home/x", "/data/heddle/profiles.sqlite"));
  CHECK(is(nullptr, "relative", "/home/x", "/home/x/.local/share/heddle/profiles.sqlite"));
  CHECK(is(nullptr, nullptr, "/home/x", "/home/x/.local/share/heddle/profiles.sqlite"));
  CHECK(is(nullptr, nullptr, nullptr, ""));
}

}  // namespace
}  // namespace heddle
