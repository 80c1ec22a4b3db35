// Rows that were edited by hand, or that another version wrote.
#include "heddle/profiles/rows.hpp"

#include <SQLiteCpp/Database.h>
#include <doctest/doctest.h>

#include <string>

#include "profiles/support.hpp"

namespace heddle {
namespace {

using namespace test;

/// The line with which reading everything is refused after `sql`; empty if it is not.
std::string after(const std::string& sql) {
  const Folder folder;
  {
    ProfileStore store(folder / "p", kWrite);
    store.record(measurement());
    store.keep(profile());
  }
  SQLite::Database(folder / "p", SQLite::OPEN_READWRITE).exec(sql);
  return complaint([&] {
    const ProfileStore store(folder / "p", kRead);
    (void)store.profiles();
    (void)store.measurements();
    (void)store.left_out();
  });
}

TEST_CASE("numbers that nobody can have measured are damage") {
  CHECK(after("") == "");
  for (const char* time : {"9e999", "-9e999", "-1", "0"}) {
    const std::string line = after(fmt::format("UPDATE profiles SET time = {}", time));
    CAPTURE(line);
    CHECK(contains(line, "damaged: the profile of sonfin-train rules=640 dim=16 outputs=10: time is"));
  }
  CHECK(contains(after("UPDATE profiles SET spread = 9e999"), "spread is inf"));
  CHECK(contains(after("UPDATE profiles SET worst_error = -1"), "worst_error is -1"));
  CHECK(contains(after("UPDATE profiles SET samples = 0"), "samples is 0"));
  CHECK(contains(after("UPDATE profiles SET samples = 9223372036854775807"), "samples is"));
  for (const char* times : {"[inf]", "[nan]", "[-1]", "[1e999]"}) {
    CHECK(contains(after(fmt::format("UPDATE measurements SET times = '{}'", times)), "time"));
  }
  for (const char* times : {"", "[", "]", "[1", "1]", "[,]", "[1,]", "[,1]", "[1 2]", "[1,,2]", "[1]]", "{}", "[x]"}) {
    CAPTURE(times);
    CHECK(contains(after(fmt::format("UPDATE measurements SET times = '{}'", times)), "times is '"));
  }
  CHECK(after("UPDATE measurements SET times = '[]'") == "");
  CHECK(contains(after("UPDATE measurements SET cost = 9e999"), "cost is inf"));
  CHECK(contains(after("UPDATE measurements SET cost = -1"), "cost is -1"));
  CHECK(contains(after("UPDATE measurements SET compile_seconds = 9e999"), "compile_seconds is inf"));
  CHECK(contains(after("UPDATE measurements SET worst_error = -0.5"), "worst_error is -0.5"));
  CHECK(after("UPDATE measurements SET worst_error = 9e999") == "");  // a wrong result can be
  CHECK(contains(after("UPDATE measurements SET samples = -1"), "samples is -1"));
  CHECK(contains(after("UPDATE measurements SET energy = -1"), "energy is -1"));
  CHECK(contains(after("UPDATE measurements SET registers = -1, shared_bytes = 0, local_bytes = 0, occupancy = 0"),
                 "registers is -1"));
  CHECK(contains(after("UPDATE measurements SET registers = 1, shared_bytes = 0, local_bytes = 0, occupancy = 1.5"),
                 "occupancy is 1.5"));
}

TEST_CASE("texts that no heddle writes are damage") {
  CHECK(
      contains(after("UPDATE measurements SET status = 'splendid'"), "damaged: a measurement with status 'splendid'"));
  for (const char* problem : {"rules", "rules=", "rules=x", "=5", "rules=-1", "rules=1  dim=1", " ", "rules=01"}) {
    CAPTURE(problem);
    CHECK(contains(after(fmt::format("UPDATE profiles SET problem = '{}'", problem)), "damaged: problem '"));
    CHECK(contains(after(fmt::format("UPDATE measurements SET problem = '{}'", problem)), "damaged: problem '"));
  }
  CHECK(contains(after("UPDATE devices SET identity = 'loom'"), "damaged: device 'loom'"));
  CHECK(contains(after("UPDATE measurements SET message = hex(zeroblob(10000000))"), "damaged: a row is too long"));
}

TEST_CASE("a record whose sizes are not those of its family is passed over, and said to be") {
  const Folder folder;
  {
    ProfileStore store(folder / "p", kWrite);
    store.record({measurement(), measurement(key(33)), measurement(key(34)), measurement(key(35))});
    for (const std::int64_t rules : {640, 33, 34, 35}) store.keep(profile(key(rules)));
  }
  SQLite::Database database(folder / "p", SQLite::OPEN_READWRITE);
  for (const char* table : {"profiles", "measurements"}) {
    database.exec(
        fmt::format("UPDATE {0} SET problem = 'rules=33 dim=16' WHERE problem LIKE 'rules=33 %';"
                    "UPDATE {0} SET problem = 'rules=34 dim=16 outputs=99999999999' "
                    "WHERE problem LIKE 'rules=34 %';"
                    "UPDATE {0} SET problem = 'rules=0 dim=16 outputs=10' WHERE problem LIKE 'rules=35 %'",
                    table));
  }
  const ProfileStore store(folder / "p", kRead);
  CHECK(store.profiles().size() == 1);
  CHECK(store.measurements().size() == 1);
  const auto left_out = store.left_out();
  REQUIRE(left_out.size() == 3);
  CHECK(contains(left_out[0], "sonfin-train problem 'rules=0 dim=16 outputs=10': expected rules from 1"));
  CHECK(contains(left_out[1], "sonfin-train problem 'rules=33 dim=16': expected outputs="));
  CHECK(contains(left_out[2], "expected outputs from 1 to"));
}

TEST_CASE("families that this heddle does not have may have any sizes") {
  const Folder folder;
  ProfileKey other = key();
  other.family = "carpet";
  other.problem = Problem({{.name = "knots", .value = 1'000'000'000'000}, {.name = "colours", .value = 0}});
  ProfileStore store(folder / "p", kWrite);
  store.record(measurement(other));
  CHECK(store.measurements().front().key == other);
  CHECK(store.left_out().empty());
}

TEST_CASE("what would not be believed is not written") {
  ProfileStore store(":memory:", kWrite);
  Profile profile = test::profile();
  profile.time = std::numeric_limits<double>::infinity();
  CHECK(contains(complaint([&] { store.keep(profile); }, ErrorKind::bug), "time is inf"));
  Measurement measurement = test::measurement();
  measurement.times = {-1.0};
  CHECK(contains(complaint([&] { store.record(measurement); }, ErrorKind::bug), "time is -1"));
  CHECK(store.profiles().empty());
  CHECK(store.measurements().empty());
}

}  // namespace
}  // namespace heddle
