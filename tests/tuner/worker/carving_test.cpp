// A family that is unlike those of heddle (tests/carving_family.hpp), from tuning to choosing, with real kernels, on a
// device whose label is in HEDDLE_TEST_DEVICE (by default the CPU).
#include <SQLiteCpp/Database.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "carving_family.hpp"
#include "heddle/profiles/exchange.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/tuner.hpp"
#include "heddle/tuner/worker/isolated_evaluator.hpp"
#include "placed.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

constexpr const char* kMadeLater = "made-later";

std::string label_of_device() {
  const char* const label = std::getenv("HEDDLE_TEST_DEVICE");
  return label == nullptr ? "cpu" : label;
}

/// One family that the program adds as an object, and one that is made from a text, here and in the worker.
FamilyRegistry both_ways() {
  FamilyRegistry families = builtin_families();
  families.add(std::make_shared<test::CarvingFamily>());
  families.add_maker("carving", test::make_carving_family);
  families.add({.maker = "carving", .text = kMadeLater});
  return families;
}

WorkerOptions told(const FamilyRegistry& families) {
  return {.command = {test::worker_program()}, .device = label_of_device(), .families = families.descriptions()};
}

std::vector<Problem> tuned_problems() {
  return {test::carving(64, 0, std::nullopt, 8), test::carving(1024, 12, std::nullopt, 8)};
}

constexpr std::uint64_t kSeed = 3;

std::vector<TuningResult> tune(Evaluator& evaluator, ProfileStore& store, std::int64_t evaluations) {
  StopCondition stop({.seconds = {}, .evaluations = evaluations});
  return Tuner(evaluator, store, {.seed = kSeed}).tune(tuned_problems(), stop);
}

/// Tuned, stored, exported, imported, chosen at tuned sizes and between, explained.
void live_through_it(Evaluator& evaluator, const FamilyRegistry& families) {
  const KernelFamily& family = evaluator.family();
  const TemporaryFolder folder;
  ProfileStore store(folder.path() / "p", ProfileStore::Access::read_write, families);
  const auto results = tune(evaluator, store, 10);
  REQUIRE(results.size() == 2);
  for (const TuningResult& result : results) {
    CAPTURE(result.problem.text());
    REQUIRE(result.profile);
    CHECK(result.profile->worst_error == 0.0);  // bit for bit
    CHECK(result.profile->kernels == kernel_version(family, evaluator.device()));
    const WorkRange range = family.timed_work(result.problem, evaluator.device());
    CHECK(result.profile->samples >= range.least);
    CHECK(result.profile->samples <= range.most);
  }

  const auto check_choices = [&](const ProfileStore& from) {
    const Dispatcher dispatcher(evaluator.device(), family, from.profiles());
    for (const TuningResult& result : results) {
      CHECK(dispatcher.choose(result.problem).tier == Tier::exact);
      CHECK(dispatcher.choose(result.problem).configuration.text() == result.profile->configuration);
    }
    for (const Problem& between : {test::carving(300, 5, std::nullopt, 8), test::carving(900, 12, std::nullopt, 8)}) {
      CAPTURE(between.text());
      CHECK(dispatcher.choose(between).tier == Tier::nearest);
      CHECK(dispatcher.explain(between).text().find("us per launch") != std::string::npos);
    }
    const Problem elsewhere = test::carving(64, 0, std::nullopt, 4);
    CHECK(dispatcher.choose(elsewhere).tier == Tier::fallback);
    CHECK(dispatcher.explain(elsewhere).text().find("another value of bytes") != std::string::npos);
    CHECK(dispatcher.explain(test::carving(64, 0, 0, 8)).text().find("another value of halo") != std::string::npos);
  };
  check_choices(store);
  if (!can_be_timed(evaluator.device().backend)) return;  // and so has no profiles that could be carried
  CHECK(export_profiles(store, folder.path() / "p.json").left_out.empty());
  ProfileStore other(":memory:", ProfileStore::Access::read_write, families);
  for (const ImportDecision& decision : import_profiles(other, folder.path() / "p.json").profiles) {
    CHECK(decision.action == ImportDecision::Action::added);
    CHECK(decision.profile.kernels == kernel_version(family, evaluator.device()));
  }
  check_choices(other);
}

std::int64_t rows(const std::filesystem::path& file, const std::string& of) {
  try {
    return SQLite::Database(file.string(), SQLite::OPEN_READONLY).execAndGet("SELECT count(*) FROM " + of).getInt64();
  } catch (const SQLite::Exception&) {  // it is not there yet
    return 0;
  }
}

TEST_CASE("a family added as an object, unlike those of heddle, is tuned, stored, carried, chosen and explained") {
  const FamilyRegistry families = both_ways();
  const auto device = open_device(label_of_device());
  DeviceEvaluator evaluator(*device, families.at("carving"), kSeed);
  live_through_it(evaluator, families);
}

TEST_CASE(
    "a family made at run time, unlike those of heddle, is tuned in the worker, stored, carried, chosen and "
    "explained") {
  const FamilyRegistry families = both_ways();
  Worker worker(told(families));
  IsolatedEvaluator evaluator(worker, families.at(kMadeLater), kSeed);
  REQUIRE(::kill(worker.process(), SIGKILL) == 0);  // the next process is told as well
  live_through_it(evaluator, families);
}

TEST_CASE("a run of a family made at run time that is killed goes on from what it measured") {
  constexpr std::int64_t kEvaluations = 24;
  const FamilyRegistry families = both_ways();
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "p";
  const auto run = [&] {
    Worker worker(told(families));
    IsolatedEvaluator evaluator(worker, families.at(kMadeLater), kSeed);
    ProfileStore store(file, ProfileStore::Access::read_write, families);
    return tune(evaluator, store, kEvaluations);
  };
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      (void)run();
    } catch (...) {
    }
    ::_exit(0);
  }
  REQUIRE(child > 0);
  int status = 0;
  pid_t ended = 0;
  while (rows(file, "measurements") < 5 && ended == 0) {
    ::usleep(1000);
    ended = ::waitpid(child, &status, WNOHANG);
  }
  REQUIRE(ended == 0);  // or it has ended before it measured as much
  REQUIRE(::kill(child, SIGKILL) == 0);
  REQUIRE(::waitpid(child, &status, 0) == child);
  const std::int64_t before = rows(file, "measurements");
  CHECK(before >= 5);

  const auto results = run();
  REQUIRE(results.size() == 2);
  for (const TuningResult& result : results) CHECK(result.profile);
  CHECK(rows(file, "runs") == 1);
  CHECK(rows(file, "measurements") > before);
  const std::string screened = "measurements WHERE visit = 0 AND status <> 'constraint'";
  CHECK(rows(file, screened) <= kEvaluations);
  CHECK(rows(file, "(SELECT 1 FROM " + screened + " GROUP BY problem, configuration HAVING count(*) > 1)") == 0);
}

}  // namespace
}  // namespace heddle
