// Databases and import files that cannot be used: one clear line each, and nothing that was there is lost.
#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "cli/program.hpp"
#include "heddle/kernels/template_source.hpp"
#include "skip.hpp"

namespace heddle::test {
namespace {

using nlohmann::json;

/// A short search on sizes that nothing else uses.
std::vector<std::string> tune(const std::string& database, const std::string& rules = "5") {
  return {"tune",      "--device", "cpu",           "--family", "sonfin-train", "--rules", rules,        "--dim", "3",
          "--outputs", "2",        "--evaluations", "6",        "--quiet",      "--json",  "--profiles", database};
}

std::size_t profile_count(const Workplace& place, const std::string& database) {
  const Outcome list = place.run({"profiles", "list", "--json", "--profiles", database});
  REQUIRE(list.code == 0);
  return json::parse(list.out)["records"].size();
}

TEST_CASE("databases that cannot be used") {
  const Workplace place;
  const std::string good = place.path("good.sqlite").string();
  REQUIRE(place.run(tune(good)).code == 0);

  const std::string text = place.write("text.sqlite", "shopping list: bread, milk, a loom\n");
  check_refused(place.run(tune(text)), 5, {"text.sqlite"});
  check_refused(place.run({"profiles", "list", "--profiles", text}), 5, {"text.sqlite"});
  CHECK(place.read("text.sqlite").starts_with("shopping list"));

  const std::string cut = place.path("cut.sqlite").string();
  std::filesystem::copy_file(good, cut);
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) / 2);
  check_refused(place.run({"profiles", "list", "--profiles", cut}), 5, {"cut.sqlite"});

  const std::string newer = place.path("newer.sqlite").string();
  std::filesystem::copy_file(good, newer);
  SQLite::Database(newer, SQLite::OPEN_READWRITE).exec("PRAGMA user_version = 1000");
  check_refused(place.run(tune(newer)), 5, {"newer.sqlite", "newer"});
  check_refused(place.run({"profiles", "list", "--profiles", newer}), 5, {"newer.sqlite", "newer"});

  const std::string pipe = place.path("pipe.sqlite").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& none : {pipe, std::string("/dev/zero")}) {
    check_refused(place.run(tune(none)), 5, {none});
    check_refused(place.run({"profiles", "list", "--profiles", none}), 5, {none});
  }

  check_refused(place.run(tune(place.folder().string())), 5, {place.folder().string()});
  check_refused(place.run(tune("/proc/nowhere/p.sqlite")), 5, {"/proc/nowhere"});
  CHECK(profile_count(place, good) == 1);
}

TEST_CASE("a database that is named and not there is no empty one") {
  const Workplace place;
  const std::string none = place.path("none.sqlite").string();
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"list"},
                                             {"show"},
                                             {"explain", "--device", "cpu"},
                                             {"export", place.path("e.json").string()},
                                             {"verify", "--device", "cpu"},
                                             {"prune"},
                                             {"regret", "--device", "cpu", "--family", "sonfin-train"}}) {
    std::vector<std::string> arguments{"profiles"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    const std::string& word = command.front();
    CAPTURE(word);
    if (word != "regret") CHECK(place.run(arguments).code == 0);  // nothing has been tuned yet
    arguments.insert(arguments.end(), {"--profiles", none});
    std::filesystem::remove(place.path("e.json"));
    check_refused(place.run(arguments), 3, {none, "found no file"});
    CHECK_FALSE(std::filesystem::exists(none));
    CHECK_FALSE(std::filesystem::exists(place.path("e.json")));
  }
  CHECK(place.run(tune(none)).code == 0);  // which makes it
  CHECK(profile_count(place, none) == 1);
}

TEST_CASE("a database that another process has locked is waited for, then refused") {
  const Workplace place;
  const std::string file = place.path("locked.sqlite").string();
  REQUIRE(place.run(tune(file)).code == 0);
  {
    SQLite::Database holder(file, SQLite::OPEN_READWRITE);
    holder.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    check_refused(place.run(tune(file, "6")), 5, {"locked.sqlite", "locked"});
    holder.exec("ROLLBACK");
  }
  CHECK(profile_count(place, file) == 1);
}

TEST_CASE("a database in a read-only folder can be read and not written") {
  if (geteuid() == 0) {
    skip("permissions do not bind root");
    return;
  }
  const Workplace place;
  const std::string file = place.path("inside/p.sqlite").string();
  REQUIRE(place.run(tune(file)).code == 0);
  std::filesystem::permissions(place.path("inside"), std::filesystem::perms(0500));
  CHECK(profile_count(place, file) == 1);
  check_refused(place.run(tune(file, "6")), 5, {"p.sqlite"});
  std::filesystem::permissions(place.path("inside"), std::filesystem::perms(0700));
}

TEST_CASE("a disk that is full while tuning") {
  const Workplace place;
  const std::string file = place.path("full.sqlite").string();
  REQUIRE(place.run(tune(file)).code == 0);
  Limits limits;
  limits.file_bytes = static_cast<long>(std::filesystem::file_size(file));
  auto arguments = tune(file, "7,8,9,11,13,17,19,23");
  arguments[std::find(arguments.begin(), arguments.end(), "--evaluations") - arguments.begin() + 1] = "4000";
  check_refused(place.run(arguments, limits), 5, {"full.sqlite"});
  CHECK(profile_count(place, file) >= 1);
}

TEST_CASE("a database that goes away while tuning: what was measured is kept beside it") {
  const Workplace place;
  const std::vector<std::pair<std::string, std::function<void(const std::string&)>>> mishaps{
      {"deleted", [](const std::string& file) { std::filesystem::remove(file); }},
      {"truncated", [](const std::string& file) { std::filesystem::resize_file(file, 0); }},
      {"overwritten", [&](const std::string& file) {
         place.write(std::filesystem::path(file).filename().string(), std::string(100'000, 'x'));
       }}};
  for (const auto& [name, mishap] : mishaps) {
    const std::string& word = name;
    CAPTURE(word);
    const std::string file = place.path(word + ".sqlite").string();
    const auto process = place.start({"tune", "--device", "cpu", "--rules", "32,48,64", "--dim", "7,9", "--outputs",
                                      "2,3", "--budget", "10m", "--json", "--quiet", "--profiles", file});
    const auto measured = [](const std::string& database) {
      try {
        return SQLite::Database(database, SQLite::OPEN_READONLY, 1000)
            .execAndGet("SELECT count(*) FROM measurements")
            .getInt();
      } catch (const SQLite::Exception&) {
        return 0;  // it is only just being made
      }
    };
    while (measured(file) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    mishap(file);
    const std::string rescued = file + ".rescued";
    check_refused(place.wait(process), 5, {file, word, rescued});
    CHECK(measured(rescued) > 0);
    CHECK(place.run({"profiles", "show", "--profiles", rescued}).code == 0);
  }
}

TEST_CASE("a database with rows that no heddle writes, and with rows of another heddle") {
  const Workplace place;
  const std::string file = place.path("p.sqlite").string();
  REQUIRE(place.run(tune(file)).code == 0);
  REQUIRE(place.run(tune(file, "6")).code == 0);
  SQLite::Database database(file, SQLite::OPEN_READWRITE);
  database.exec("UPDATE profiles SET problem = 'rules=6 dim=3' WHERE problem = 'rules=6 dim=3 outputs=2'");
  CHECK(profile_count(place, file) == 1);
  CHECK(place.run({"profiles", "list", "--profiles", file}).err.find("left out") != std::string::npos);
  CHECK(place.run({"profiles", "explain", "--device", "cpu", "--profiles", file}).code == 0);
  CHECK(place.run(tune(file)).code == 0);
  database.exec("DELETE FROM profiles WHERE problem = 'rules=6 dim=3'");
  for (const char* time : {"9e999", "-9e999", "-1"}) {
    database.exec(std::string("UPDATE profiles SET time = ") + time);
    for (const auto& command : {std::vector<std::string>{"profiles", "list", "--profiles", file}, tune(file)}) {
      check_refused(place.run(command), 5, {file, "damaged", "time is"});
    }
  }
}

TEST_CASE("import files that cannot be used change nothing") {
  const Workplace place;
  const std::string file = place.path("p.sqlite").string();
  REQUIRE(place.run(tune(file)).code == 0);
  REQUIRE(place.run({"profiles", "export", place.path("good.json").string(), "--profiles", file}).code == 0);
  const json good = json::parse(place.read("good.json"));

  const auto refused = [&](const std::string& name, const std::string& bytes, const std::vector<std::string>& words) {
    CAPTURE(name);
    const std::string bad = place.write(name, bytes);
    std::vector<std::string> all = words;
    all.push_back(name);
    check_refused(place.run({"profiles", "import", bad, "--profiles", file}), 3, all);
    CHECK(profile_count(place, file) == 1);
  };
  refused("empty.json", "", {});
  refused("text.json", "weave me a carpet", {});
  refused("array.json", "[1, 2, 3]", {});
  std::string many = R"({"format": "heddle-profiles", "schema": 1, "profiles": [{})";
  for (int i = 1; i < 2'000'000; ++i) many += ",{}";
  refused("many.json", many + "]}", {"2000000 records", "50000"});
  refused("cut.json", place.read("good.json").substr(0, 200), {});
  check_refused(place.run({"profiles", "import", place.path("none.json").string(), "--profiles", file}), 3,
                {"none.json"});

  // Changed behind the checksum's back.
  json changed = good;
  changed["profiles"][0]["samples"] = 7;
  refused("checksum.json", changed.dump(), {"record 1", "checksum"});

  // Lies with a checksum that is right.
  const auto lie = [&](const std::string& name, const std::string& field, const json& value,
                       const std::vector<std::string>& words) {
    json document = good;
    json& record = document["profiles"][0];
    record[field] = value;
    record.erase("checksum");
    record["checksum"] = digest(record.dump());
    refused(name, document.dump(), words);
  };
  lie("family.json", "family", "weav\x1b[2Jing", {"record 1", "family is"});
  lie("outside.json", "configuration", "threads=1 magic=17", {"record 1"});
  lie("rules.json", "problem", "rules=1000000000 dim=3 outputs=2", {"record 1", "1000000000"});
  lie("negative.json", "time", -1.5, {"record 1", "time", "-1.5"});
  lie("text_time.json", "time", "fast", {"record 1", "time", "fast"});
  lie("samples.json", "samples", -3, {"record 1", "samples", "-3"});
  lie("device.json", "device", "a toaster", {"record 1"});
  json newer = good;
  newer["schema"] = 1000;
  refused("newer.json", newer.dump(), {"newer"});
  // A good record before a bad one is not taken either.
  json mixed = good;
  mixed["profiles"].push_back(good["profiles"][0]);
  refused("twice.json", mixed.dump(), {"record 2"});
}

TEST_CASE("profiles of a family that is not known here are shown, carried on, and otherwise left alone") {
  const Workplace place;
  const std::string file = place.path("p.sqlite").string(), other = place.path("other.sqlite").string();
  REQUIRE(place.run(tune(file)).code == 0);
  const std::string exported = place.path("p.json").string();
  REQUIRE(place.run({"profiles", "export", exported, "--profiles", file}).code == 0);
  json document = json::parse(place.read("p.json"));
  json carpet = document["profiles"][0];
  carpet["family"] = "carpet";
  carpet["problem"] = "knots=7 colours=0";
  carpet["configuration"] = "loom=upright";
  carpet["ties"] = json::array();
  carpet["thread"] = {{"material", "wool"}};
  carpet.erase("checksum");
  carpet["checksum"] = digest(carpet.dump());
  document["profiles"].push_back(carpet);
  const std::string mixed = place.write("mixed.json", document.dump());

  const Outcome import = place.run({"profiles", "import", mixed, "--profiles", other});
  CHECK(import.code == 0);
  CHECK(import.out.find("2 profiles added") != std::string::npos);
  CHECK(import.out.find("1 of kernel families that are not built in") != std::string::npos);
  const auto state = [&](const std::string& command, const std::string& family) {
    const json records = json::parse(place.run({"profiles", command, "--json", "--profiles", other}).out)["records"];
    for (const json& each : records) {
      if (each["family"] == family) return each["state"].get<std::string>();
    }
    return std::string("none");
  };
  CHECK(state("list", "carpet") == "unknown");
  CHECK(state("show", "carpet") == "unknown");
  CHECK(state("list", "sonfin-train") == "imported");
  const auto only = [&](const std::string& family) {
    return place.run({"profiles", "list", "--family", family, "--profiles", other});
  };
  CHECK(only("carpet").out.find("1 profile in ") != std::string::npos);
  CHECK(only("sonfin-predict").code == 0);
  check_refused(only("weaving"), 2, {"weaving", "sonfin-train"});
  CHECK(place.run({"profiles", "list", "--profiles", other}).out.find("unknown") != std::string::npos);
  CHECK(place.run({"profiles", "explain", "--device", "cpu", "--profiles", other}).out.find("carpet") ==
        std::string::npos);

  CHECK(place.run({"profiles", "prune", "--profiles", other}).code == 0);
  CHECK(place.run({"profiles", "verify", "--all", "--device", "cpu", "--profiles", other}).code == 0);
  CHECK(place.run(tune(other)).code == 0);
  REQUIRE(place.run({"profiles", "export", exported, "--profiles", other}).code == 0);
  const json again = json::parse(place.read("p.json"))["profiles"];
  CHECK(std::count(again.begin(), again.end(), carpet) == 1);
  CHECK(again.size() == 2);
}

TEST_CASE("two searches on one database at once") {
  const Workplace place;
  const std::string file = place.path("shared.sqlite").string();
  const auto first = place.start(tune(file, "5,7,9"));
  const auto second = place.start(tune(file, "6,8,10"));
  const Outcome a = place.wait(first), b = place.wait(second);
  CAPTURE(a.err);
  CAPTURE(b.err);
  REQUIRE(a.code == 0);
  REQUIRE(b.code == 0);
  CHECK(profile_count(place, file) == 6);
  const json shown = json::parse(place.run({"profiles", "show", "--json", "--profiles", file}).out);
  std::int64_t kept = 0;
  for (const json& record : shown["records"]) {
    for (const json& count : record["measurements"]) kept += count.get<std::int64_t>();
  }
  const json first_document = json::parse(a.out), second_document = json::parse(b.out);
  // At least one for each: those that came to the finals were timed again.
  CHECK(kept >= first_document["evaluations"].get<std::int64_t>() + second_document["evaluations"].get<std::int64_t>());
}

}  // namespace
}  // namespace heddle::test
