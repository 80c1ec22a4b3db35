// Trainings that something goes wrong with: what was learnt is kept, and what is no part of training does not end it.
#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "runtime/device/environment_variable.hpp"

namespace heddle::test {
namespace {

/// A database with a profile of training with 32 rules, 3 inputs and 2 outputs, changed by `change`.
std::string changed_profile(const Workplace& place, const std::string& change) {
  std::string file = place.path("p.sqlite").string();
  const Outcome tuned = place.run({"tune", "--device", "cpu", "--family", "sonfin-train", "--rules", "32", "--dim", "3",
                                   "--outputs", "2", "--evaluations", "1", "--quiet", "--profiles", file});
  REQUIRE(tuned.code == 0);
  SQLite::Database database(file, SQLite::OPEN_READWRITE);
  REQUIRE(database.exec("UPDATE profiles SET " + change) == 1);
  return file;
}

std::vector<std::string> training_with(const std::string& profiles, const std::string& data, const char* epochs) {
  return {"train",       data, "--device", "cpu",  "--profiles", profiles,
          "--max-rules", "32", "--epochs", epochs, "--model",    "m"};
}

std::string executable(const Workplace& place, const std::string& name, const std::string& script) {
  std::string file = place.write(name, script);
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return file;
}

TEST_CASE("a remark about a slow epoch needs no compiler") {
  const Workplace place;
  const std::string profiles = changed_profile(place, "time = 0.001");
  const std::string data = place.write("data.csv", table(100'000, 3, 2, 1));  // an epoch takes more than a moment
  const Variable variable("CXX", "/bin/false");
  const Outcome outcome = place.run(training_with(profiles, data, "3"));
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.find("that the profile promises") != std::string::npos);
  CHECK(place.run({"inspect", "m"}).code == 0);
}

/// A compiler whose kernels do nothing any more after so many calls.
std::string compiler_of_tiring_kernels(const Workplace& place, int calls) {
  return executable(place, "tiring",
                    "#!/bin/sh\nfor word; do case \"$word\" in */unit.cpp) sed -i "
                    "'s/) { \\(.*(context, arguments);\\) }/) { static int calls; if (++calls > " +
                        std::to_string(calls) + ") return; \\1 }/' \"$word\";; esac; done\nexec c++ \"$@\"\n");
}

TEST_CASE("a training that fails midway leaves the model so far") {
  const Workplace place;
  const std::string profiles = changed_profile(
      place, "configuration = 'coarsening=rules coarsen_count=2 block_size=4 threads=1 prune=0', time = 1000");
  const std::string data = place.write("data.csv", table(20'000, 3, 2, 1));
  const Variable variable("CXX", compiler_of_tiring_kernels(place, 1000));
  for (const bool compare : {false, true}) {
    CAPTURE(compare);
    std::filesystem::remove(place.path("m"));
    std::vector<std::string> words = training_with(profiles, data, "300");
    if (compare) words.emplace_back("--compare");
    const Outcome outcome = place.run(words);
    CAPTURE(outcome.err);
    CHECK(outcome.code == 1);
    CHECK(outcome.err.find("neither learns nor says why; the model so far is kept in m\n") != std::string::npos);
    CHECK(place.run({"predict", "m", data, "--device", "cpu", "--output", "o"}).code == 0);
  }
}

TEST_CASE("a model for a pipe that nobody reads is kept elsewhere") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(200, 3, 2, 1));
  REQUIRE(mkfifo(place.path("m").c_str(), 0600) == 0);
  std::filesystem::create_directories(place.path("temporary"));
  const Variable files("TMPDIR", place.path("temporary").string());
  const Outcome outcome = place.run({"train", data, "--device", "cpu", "--epochs", "2", "--model", "m"});
  CAPTURE(outcome.err);
  CHECK(outcome.code == 3);
  CHECK(outcome.err.find("cannot write 'm': no program reads it; the model is kept in '") != std::string::npos);
  const std::size_t begin = outcome.err.find(place.path("temporary").string());
  REQUIRE(begin != std::string::npos);
  const std::string kept = outcome.err.substr(begin, outcome.err.find('\'', begin) - begin);
  CHECK(place.run({"inspect", kept}).code == 0);
}

}  // namespace
}  // namespace heddle::test
