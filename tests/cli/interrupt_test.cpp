// Ctrl-C at any moment: what was measured or learnt is kept.
#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cli/heard.hpp"
#include "cli/program.hpp"

namespace heddle::test {
namespace {

using nlohmann::json;

using Clock = std::chrono::steady_clock;

/// Waits until the program catches SIGTERM, which it does from a certain point on. Before it has become that program,
/// the process is still a copy of the test, which catches SIGTERM too.
void wait_until_it_listens(pid_t process) {
  const std::string program = std::filesystem::path(HEDDLE_PROGRAM).filename().string();
  for (int i = 0; i < 6000; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    bool is_program = false;
    for (std::string line; std::getline(status, line);) {
      if (line == "Name:\t" + program) is_program = true;
      if (!is_program || !line.starts_with("SigCgt:")) continue;
      if ((std::stoull(line.substr(7), nullptr, 16) >> (SIGTERM - 1) & 1U) != 0) return;
    }
  }
  throw std::runtime_error("the program never caught SIGTERM");
}

/// Ends the program by a signal, which has to be heard soon.
Outcome interrupted_by(int signal, const Workplace& place, const Process& process) {
  const auto start = Clock::now();
  kill(process.id, signal);
  Outcome outcome = place.wait(process);
  CAPTURE(outcome.err);
  CHECK(Clock::now() - start < kHeard);
  CHECK(outcome.code == 130);
  return outcome;
}

void sleep_some(std::mt19937& random, int most_milliseconds) {
  std::this_thread::sleep_for(
      std::chrono::milliseconds(20 + static_cast<int>(random() % static_cast<unsigned>(most_milliseconds))));
}

TEST_CASE("Ctrl-C while tuning keeps every measurement") {
  std::random_device entropy;
  const unsigned seed = entropy();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const Workplace place;
  for (int round = 0; round < 4; ++round) {
    CAPTURE(round);
    const std::string file = place.path(std::to_string(round) + ".sqlite").string();
    const auto process = place.start({"tune", "--device", "cpu", "--rules", "32,48,64", "--dim", "7,9", "--outputs",
                                      "2,3", "--budget", "10m", "--json", "--quiet", "--profiles", file});
    sleep_some(random, 3000);
    kill(-process.id, SIGINT);  // a terminal sends it to the compilers as well
    const Outcome outcome = place.wait(process);
    CAPTURE(outcome.err);
    if (outcome.code == 128 + SIGINT && outcome.out.empty()) continue;  // before there was anything to keep
    CHECK(outcome.code == 130);
    const json document = json::parse(outcome.out);
    CHECK(document["interrupted"] == true);
    const Outcome show = place.run({"profiles", "show", "--json", "--profiles", file});
    REQUIRE(show.code == 0);
    std::int64_t kept = 0;
    const json shown = json::parse(show.out);
    for (const json& record : shown["records"]) {
      for (const auto& [status, count] : record["measurements"].items()) {
        kept += count.get<std::int64_t>();
        CHECK(status != "compilation");
      }
    }
    CHECK(kept >= document["evaluations"].get<std::int64_t>());  // finalists are timed again
  }
}

TEST_CASE("Ctrl-C while training keeps the model so far") {
  std::random_device entropy;
  const unsigned seed = entropy();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const Workplace place;
  const std::string data = place.write("data.csv", table(20000, 16, 10, seed));
  for (int round = 0; round < 6; ++round) {
    CAPTURE(round);
    const std::string model = place.path(std::to_string(round) + ".heddle").string();
    const auto process =
        place.start({"train", data, "--device", "cpu", "--epochs", "100000", "--model", model, "--json"});
    sleep_some(random, 2500);
    kill(-process.id, std::array{SIGINT, SIGTERM, SIGHUP}[static_cast<std::size_t>(round % 3)]);
    const Outcome outcome = place.wait(process);
    CAPTURE(outcome.err);
    if (outcome.code == 128 + SIGTERM || outcome.code == 128 + SIGHUP ||
        (outcome.code == 128 + SIGINT && outcome.err.empty())) {
      CHECK(!std::filesystem::exists(model));  // while it read the data
      continue;
    }
    CHECK(outcome.code == 130);
    CHECK(outcome.err.find("interrupted") != std::string::npos);
    if (!std::filesystem::exists(model)) {
      CHECK(outcome.err.find("before") != std::string::npos);
      continue;
    }
    const Outcome predicted =
        place.run({"predict", model, data, "--device", "cpu", "--json", "--output", place.path("o").string()});
    REQUIRE(predicted.code == 0);
    CHECK(json::parse(predicted.out)["accuracy"].get<double>() > 0.1);
  }
}

/// A compiler that tells its version and then never compiles.
std::string endless_compiler(const Workplace& place) {
  std::string file = place.write(
      "compiler", "#!/bin/sh\ncase \"$*\" in *--version*|*-dump*) exec c++ \"$@\";; esac\nexec sleep 600\n");
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return file;
}

std::vector<std::string> tuning_of(const std::string& file, const char* rules) {
  return {"tune",      "--device", "cpu",    "--family", "sonfin-train", "--rules", rules,           "--dim", "3",
          "--outputs", "2",        "--json", "--quiet",  "--profiles",   file,      "--evaluations", "8"};
}

/// Keeps other processes from writing to a database. It is kept waiting for 10 s, and longer if it tries again.
void lock(SQLite::Database& database) {
  database.setBusyTimeout(60'000);
  database.exec("BEGIN IMMEDIATE");
}

TEST_CASE("Ctrl-C is heard while metrics are computed after the last epoch, and the model is there") {
  const Workplace place;
  // So many rows to test with that their metrics take far longer than what a program may finish after a signal.
  const std::string data = place.write("data.csv", table(30, 2, 2, 1)),
                    test = place.write("test.csv", table(40'000, 2, 2, 2));
  const Process process = place.start({"train", data, "--test", test, "--device", "emulator", "--epochs", "1",
                                       "--max-rules", "4", "--model", "m", "--metrics", "--log", "l"});
  place.wait_for(process.out, "us/sample");
  const Outcome outcome = interrupted_by(SIGINT, place, process);
  CHECK(outcome.err.find("interrupted before the metrics were computed") != std::string::npos);
  CHECK(outcome.out.find("model: m") != std::string::npos);
  CHECK(place.read("l").find(R"("ending":"completed")") != std::string::npos);
  CHECK(place.run({"predict", "m", data, "--device", "cpu", "--output", "o"}).code == 0);
}

TEST_CASE("Ctrl-C is heard while a search waits for the database before it begins") {
  const Workplace place;
  const std::string file = place.path("p.sqlite").string();
  REQUIRE(place
              .run({"tune", "--device", "cpu", "--family", "sonfin-train", "--rules", "5", "--dim", "3", "--outputs",
                    "2", "--evaluations", "1", "--quiet", "--profiles", file})
              .code == 0);
  SQLite::Database database(file, SQLite::OPEN_READWRITE);
  lock(database);
  const Process process = place.start(tuning_of(file, "6"));
  wait_until_it_listens(process.id);
  const Outcome outcome = interrupted_by(SIGTERM, place, process);
  CAPTURE(outcome.err);
  CHECK(json::parse(outcome.out)["interrupted"] == true);
}

TEST_CASE("problems that are done are in the document of a search that is interrupted in a long wait") {
  const Workplace place;
  const std::string file = place.path("p.sqlite").string();
  const Process process = place.start(tuning_of(file, "5,6"));
  const auto profiles = [&] {
    try {
      return SQLite::Database(file, SQLite::OPEN_READONLY, 1000).execAndGet("SELECT count(*) FROM profiles").getInt();
    } catch (const SQLite::Exception&) {
      return 0;  // it is only just being made
    }
  };
  for (int i = 0; i < 6000 && profiles() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  SQLite::Database database(file, SQLite::OPEN_READWRITE);
  lock(database);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const Outcome outcome = interrupted_by(SIGTERM, place, process);
  CAPTURE(outcome.err);
  const json document = json::parse(outcome.out);
  CHECK(document["interrupted"] == true);
  REQUIRE(document["results"].size() >= 1);
  CHECK(document["results"][0]["family"] == "sonfin-train");
  CHECK(document["results"][0]["profile"].is_object());
  CHECK(document["evaluations"].get<int>() > 0);
}

TEST_CASE("Ctrl-C is heard while a compiler is waited for") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(100, 3, 2, 1));
  const char* const before = std::getenv("CXX");
  const std::string former = before == nullptr ? "" : before;
  setenv("CXX", endless_compiler(place).c_str(), 1);
  const Process training = place.start({"train", data, "--device", "emulator", "--model", "m"});
  const Process tuning = place.start({"tune", "--device", "emulator", "--family", "sonfin-predict", "--rules", "4",
                                      "--dim", "3", "--outputs", "2", "--json"});
  former.empty() ? unsetenv("CXX") : setenv("CXX", former.c_str(), 1);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  for (const Process& process : {training, tuning}) {
    const auto start = Clock::now();
    kill(process.id, SIGTERM);
    const Outcome outcome = place.wait(process);
    const auto seconds = Clock::now() - start;
    kill(-process.id, SIGKILL);  // the compiler
    CAPTURE(outcome.err);
    CHECK(outcome.code == 130);
    CHECK(outcome.err.find("interrupted") != std::string::npos);
    CHECK(seconds < kHeard);  // it would compile for ten minutes
    if (process.id == tuning.id) CHECK(json::parse(outcome.out)["interrupted"] == true);
  }
  CHECK(!std::filesystem::exists(place.path("m")));
}

/// 15000 rows of four inputs and a target.
std::string random_rows() {
  std::mt19937 random(3);
  std::string rows;
  for (int i = 0; i < 15'000; ++i) {
    for (int j = 0; j < 5; ++j) {
      rows += std::to_string(static_cast<double>(random() % 10'000) / 1e4);
      rows += j < 4 ? "," : "\n";
    }
  }
  return rows;
}

/// Batch least squares with five unknowns a rule.
std::vector<std::string> least_squares(const std::string& data, const char* rules) {
  return {"train",  data,       "--task", "regress",  "--network", "tsk",      "--rules", rules,     "--consequents",
          "linear", "--report", "1",      "--epochs", "1000",      "--device", "cpu",     "--model", "m"};
}

TEST_CASE("Ctrl-C is heard in an iteration that takes seconds, and what was learnt before is kept") {
  const Workplace place;
  const Process process = place.start(least_squares(place.write("data.csv", random_rows()), "300"));
  place.wait_for(process.out, "us/sample");  // the first iteration is done
  const Outcome outcome = interrupted_by(SIGINT, place, process);
  CAPTURE(outcome.err);
  CHECK(outcome.err.find("the model so far is kept in m") != std::string::npos);
  CHECK(place.run({"inspect", "m"}).code == 0);
}

TEST_CASE("Ctrl-C is heard in an iteration that takes far longer than 2 s") {
  const Workplace place;
  // 8000 unknowns: about half a minute an iteration.
  const Process process = place.start(least_squares(place.write("data.csv", random_rows()), "1600"));
  wait_until_it_listens(process.id);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  const Outcome outcome = interrupted_by(SIGINT, place, process);
  CAPTURE(outcome.err);
  CHECK(outcome.out.find("us/sample") == std::string::npos);  // it was in the first one
}

TEST_CASE("Ctrl-C is heard within a fold whose iterations take far longer than 2 s") {
  const Workplace place;
  std::vector<std::string> arguments = least_squares(place.write("data.csv", random_rows()), "1600");
  arguments.resize(arguments.size() - 2);  // without a model
  arguments.insert(arguments.end(), {"--folds", "3", "--json"});
  const Process process = place.start(arguments);
  wait_until_it_listens(process.id);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  const Outcome outcome = interrupted_by(SIGINT, place, process);
  CHECK(outcome.err.find("interrupted after 0 of 3 folds") != std::string::npos);
  CHECK(json::parse(outcome.out)["folds"].empty());
}

TEST_CASE("an interrupted training goes on as if nothing had happened") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(3000, 8, 5, 3));
  const auto train = [&](const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"train", data, "--device", "cpu", "--model", place.path(model).string(),
                                       "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = place.run(arguments);
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    return json::parse(outcome.out);
  };
  const json whole = train("whole", {"--epochs", "4"});
  (void)train("half", {"--epochs", "2"});
  const json rest = train("rest", {"--epochs", "4", "--resume", place.path("half").string()});
  CHECK(rest["epochs"].size() == 2);
  CHECK(rest["rules"] == whole["rules"]);
  CHECK(rest["epochs"].back()["train_error"] == whole["epochs"].back()["train_error"]);
}

}  // namespace
}  // namespace heddle::test
