// Compilers that never end: the budget and Ctrl-C are heard, and nothing of them stays behind.
#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "cli/heard.hpp"
#include "cli/program.hpp"
#include "runtime/device/environment_variable.hpp"

namespace heddle::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void wait_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(10)); }

/// A compiler that hangs when it is to compile, hears no signal, and has a helper that is as deaf. Both append their
/// numbers to the file "at-work".
std::string hanging_compiler(const Workplace& place) {
  std::string file =
      place.write("hanging",
                  "#!/bin/sh\n[ \"$1\" = --version ] && echo 'hanging compiler 1.0' && exit\ntrap '' TERM INT HUP\n"
                  "(echo $(exec sh -c 'echo $PPID') >>" +
                      place.path("at-work").string() + "; sleep 1000) &\necho $$ >>" + place.path("at-work").string() +
                      "\nsleep 1000\n");
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

/// The processes of hanging_compiler(), once there are two.
std::vector<pid_t> at_work(const Workplace& place) {
  while (true) {
    std::ifstream stream(place.path("at-work"));
    std::vector<pid_t> processes{std::istream_iterator<pid_t>(stream), {}};
    if (processes.size() >= 2) return processes;
    wait_a_little();
  }
}

bool gone(pid_t process) {
  for (int times = 0; times < 500; ++times) {
    std::ifstream stream("/proc/" + std::to_string(process) + "/stat");
    const std::string state{std::istreambuf_iterator<char>(stream), {}};
    if (state.empty() || state.find(") Z") != std::string::npos) return true;
    wait_a_little();
  }
  return false;
}

std::vector<std::string> tuning(const std::string& database, const std::string& budget) {
  return {"tune",      "--device", "cpu",      "--family", "sonfin-train", "--rules", "32",         "--dim", "3",
          "--outputs", "2",        "--budget", budget,     "--json",       "--quiet", "--profiles", database};
}

TEST_CASE("a compiler that does not even say its version is named") {
  const Workplace place;
  const std::string compiler = place.write("mute", "#!/bin/sh\nsleep 1000\n");
  fs::permissions(compiler, fs::perms::owner_all);
  const Variable variable("CXX", compiler);
  check_refused(place.run(tuning(place.path("p.sqlite").string(), "10m")), 4, {compiler, "did not end within 5 s"});
  // Training needs none.
  const std::string data = place.write("data.csv", table(200, 3, 2, 1));
  CHECK(place.run({"train", data, "--device", "cpu", "--epochs", "1", "--model", place.path("m").string()}).code == 0);
}

TEST_CASE("a compiler that hangs does not keep a search beyond its budget") {
  const Workplace place;
  const Variable variable("CXX", hanging_compiler(place)), files("TMPDIR", place.folder().string());
  const Outcome outcome = place.run(tuning(place.path("p.sqlite").string(), "3s"));
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  const json result = json::parse(outcome.out)["results"][0];
  CHECK(result["statuses"] == json{{"correct", 1}});  // the untuned default, which needs no compiler
  CHECK(result["profile"]["provenance"]["compiler"] == "hanging compiler 1.0");
  for (const pid_t process : at_work(place)) CHECK(gone(process));
  for (const fs::path& path : fs::directory_iterator(place.folder())) {
    CHECK(path.filename().string().find("scratch") == std::string::npos);
  }
}

TEST_CASE("Ctrl-C is heard while a compiler hangs, and nothing of it is left") {
  const Workplace place;
  const Variable variable("CXX", hanging_compiler(place)), files("TMPDIR", place.folder().string());
  const auto process = place.start(tuning(place.path("p.sqlite").string(), "10m"));
  const std::vector<pid_t> compilers = at_work(place);
  const auto start = std::chrono::steady_clock::now();
  kill(process.id, SIGINT);
  const Outcome outcome = place.wait(process);
  CHECK(std::chrono::steady_clock::now() - start < kHeard);
  CHECK(outcome.code == 130);
  CHECK(json::parse(outcome.out)["interrupted"] == true);
  for (const pid_t compiler : compilers) CHECK(gone(compiler));
  for (const fs::path& path : fs::directory_iterator(place.folder())) {
    CHECK(path.filename().string().find("scratch") == std::string::npos);
  }
}

TEST_CASE("Ctrl-C is heard while training waits for a compiler") {
  const Workplace place;
  const std::string file = place.path("p.sqlite").string();
  std::vector<std::string> some = tuning(file, "10m");
  some.insert(some.end(), {"--evaluations", "6"});
  const Outcome tuned = place.run(some);
  REQUIRE(tuned.code == 0);
  const std::string untuned = json::parse(tuned.out)["results"][0]["baseline"]["configuration"];
  {  // the untuned default is built in: any other has to be compiled
    SQLite::Database database(file, SQLite::OPEN_READWRITE);
    SQLite::Statement other(database,
                            "UPDATE profiles SET configuration = (SELECT configuration FROM measurements "
                            "WHERE configuration <> ? AND cost NOT NULL LIMIT 1)");
    other.bind(1, untuned);
    other.exec();
  }
  const std::string data = place.write("data.csv", table(200, 3, 2, 1));
  const Variable variable("CXX", hanging_compiler(place));
  const auto process = place.start({"train", data, "--device", "cpu", "--profiles", file, "--max-rules", "32",
                                    "--epochs", "1000000", "--model", place.path("m").string()});
  const std::vector<pid_t> compilers = at_work(place);
  const auto start = std::chrono::steady_clock::now();
  kill(process.id, SIGINT);
  const Outcome outcome = place.wait(process);
  CHECK(std::chrono::steady_clock::now() - start < kHeard);
  CAPTURE(outcome.err);
  CHECK(outcome.code == 130);
  CHECK(outcome.err.find("before the first row was learnt") != std::string::npos);
  for (const pid_t compiler : compilers) CHECK(gone(compiler));
}

TEST_CASE("what a killed program leaves in the temporary folder goes with the next one") {
  const Workplace place;
  const Variable files("TMPDIR", place.folder().string());
  const auto scratch = [&] {
    std::vector<fs::path> found;
    for (const fs::path& path : fs::directory_iterator(place.folder())) {
      if (path.filename().string().find("scratch") != std::string::npos) found.push_back(path);
    }
    return found;
  };
  {
    const Variable variable("CXX", hanging_compiler(place));
    const auto process = place.start(tuning(place.path("p.sqlite").string(), "10m"));
    const std::vector<pid_t> compilers = at_work(place);
    kill(process.id, SIGKILL);
    (void)place.wait(process);
    for (const pid_t compiler : compilers) kill(compiler, SIGKILL);
    for (const pid_t compiler : compilers) CHECK(gone(compiler));
  }
  CHECK(!scratch().empty());
  CHECK(place.run(tuning(place.path("p.sqlite").string(), "1s")).code == 0);
  CHECK(scratch().empty());
}

}  // namespace
}  // namespace heddle::test
