// A database that is lost at the moment when a winner and its finals are written: both are rescued.
#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "fake_evaluator.hpp"
#include "heddle/tuner/tuner.hpp"
#include "tuner/temporary_store.hpp"

using namespace heddle;

namespace {

/// Gives every new connection the SQL function damaged(), which fails as the access to a damaged page does.
class DamagedFunction {
 public:
  DamagedFunction() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(add)); }
  ~DamagedFunction() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(add)); }
  DamagedFunction(const DamagedFunction&) = delete;
  DamagedFunction& operator=(const DamagedFunction&) = delete;

 private:
  static int add(sqlite3* database, char**, const void*) {
    return sqlite3_create_function(
        database, "damaged", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS, nullptr,
        [](sqlite3_context* context, int, sqlite3_value**) { sqlite3_result_error_code(context, SQLITE_CORRUPT); },
        nullptr, nullptr);
  }
};

}  // namespace

TEST_CASE("the finals are rescued with their winner") {
  const DamagedFunction function;
  const TemporaryStore temporary;
  SQLite::Database(temporary.file().string(), SQLite::OPEN_READWRITE)
      .exec("CREATE TRIGGER damage BEFORE INSERT ON profiles BEGIN SELECT damaged(); END");
  const fake::Family family;
  fake::FakeEvaluator evaluator(family);
  StopCondition stop({.seconds = {}, .evaluations = 20});
  std::string line;
  try {
    (void)Tuner(evaluator, temporary.store, {}).tune({fake::problem(64)}, stop);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::profiles);
    line = error.what();
  }
  CAPTURE(line);
  const std::string before = "what it had written is in ";
  const std::size_t at = line.find(before);
  REQUIRE(at != std::string::npos);
  const ProfileStore rescued(line.substr(at + before.size()), ProfileStore::Access::read);
  REQUIRE(rescued.profiles().size() == 1);
  const auto measurements = rescued.measurements(rescued.profiles().front().key);
  const auto winner = std::ranges::count_if(measurements, [&](const Measurement& measurement) {
    return measurement.visit > 0 && measurement.configuration == rescued.profiles().front().configuration;
  });
  CHECK(winner == 1);
}
