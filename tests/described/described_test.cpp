// Whole lives of described kernels: tuned in the worker, verified, stored, carried, chosen, resumed, recorded,
// replayed.
#include <SQLiteCpp/Database.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "described/described_kernel.hpp"
#include "heddle/profiles/exchange.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/tuner/replay/record.hpp"
#include "heddle/tuner/replay/recorded_family.hpp"
#include "heddle/tuner/replay/replay_evaluator.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

using test::DescribedKernel;

struct Life {
  const char* name;
  const char* verified_against;
  const char* between;  ///< a problem between the tuned ones
};

const std::vector<Life>& lives() {
  static const std::vector<Life> all{
      {"matrix_product", "the reference kernel 'plain_matrix_product'", "m=24 n=20 k=16"},
      {"stencil", "the configuration 'block_width=32 block_height=1 points=1'", "width=64 height=16"},
      {"row_sums", "the expected outputs in files", "rows=6 fours=32"}};
  return all;
}

/// Profiles of the emulator are not carried: those that it found, as a card would have found them.
DeviceIdentity card() {
  return {.backend = "cuda",
          .name = "card",
          .architecture = "9.0",
          .units = 4,
          .memory_gib = 1,
          .cache_bytes = 1 << 20,
          .local_bytes = 232448};
}

void check_choices(const DescribedKernel& kernel, const ProfileStore& store, const DeviceIdentity& device,
                   const std::vector<TuningResult>& results, const Life& life) {
  const Dispatcher dispatcher(device, kernel.family, store.profiles());
  for (const TuningResult& result : results) {
    const Candidate chosen = dispatcher.choose(result.problem);
    CHECK(chosen.tier == Tier::exact);
    CHECK(chosen.configuration.text() == result.profile->configuration);
  }
  CHECK(dispatcher.choose(Problem::parse(life.between, kernel.family.axes())).tier == Tier::nearest);
}

std::int64_t rows_of(const std::filesystem::path& file, const std::string& of) {
  try {
    return SQLite::Database(file.string(), SQLite::OPEN_READONLY).execAndGet("SELECT count(*) FROM " + of).getInt64();
  } catch (const SQLite::Exception&) {  // it is not there yet
    return 0;
  }
}

}  // namespace

TEST_CASE("described kernels are tuned, verified, stored, carried, and chosen at tuned sizes and between") {
  for (const Life& life : lives()) {
    CAPTURE(life.name);
    const DescribedKernel kernel(life.name);
    CHECK(kernel.family.verified_against() == life.verified_against);
    ProfileStore store(":memory:", ProfileStore::Access::read_write, kernel.families);
    const auto results = kernel.tune(store, 8);
    REQUIRE(results.size() == kernel.problems.size());
    for (const TuningResult& result : results) {
      REQUIRE(result.profile);
      CHECK(result.profile->worst_error <= kernel.family.definition().tolerance);
      CHECK_FALSE(result.statuses.contains(Status::wrong_result));
    }
    check_choices(kernel, store, results.front().profile->key.device, results, life);

    ProfileStore carded(":memory:", ProfileStore::Access::read_write, kernel.families);
    for (const TuningResult& result : results) {
      Profile profile = *result.profile;
      profile.key.device = card();
      profile.kernels = kernel_version(kernel.family, card());
      carded.keep(profile);
    }
    const TemporaryFolder folder;
    CHECK(export_profiles(carded, folder.path() / "p.json").left_out.empty());
    ProfileStore other(":memory:", ProfileStore::Access::read_write, kernel.families);
    const Imported imported = import_profiles(other, folder.path() / "p.json");
    CHECK(imported.profiles.size() == results.size());
    check_choices(kernel, other, card(), results, life);
  }
}

TEST_CASE("a run of a described kernel that is killed goes on from what it measured") {
  constexpr std::int64_t kEvaluations = 10, kBeforeKill = 3;
  for (const Life& life : lives()) {
    CAPTURE(life.name);
    const DescribedKernel kernel(life.name);
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "p";
    const auto run = [&] {
      ProfileStore store(file, ProfileStore::Access::read_write, kernel.families);
      return kernel.tune(store, kEvaluations);
    };
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        static_cast<void>(run());
      } catch (...) {
      }
      ::_exit(0);
    }
    REQUIRE(child > 0);
    int status = 0;
    pid_t ended = 0;
    while (rows_of(file, "measurements") < kBeforeKill && ended == 0) {
      ::usleep(1000);
      ended = ::waitpid(child, &status, WNOHANG);
    }
    REQUIRE(ended == 0);  // or it has ended before it measured as much
    REQUIRE(::kill(child, SIGKILL) == 0);
    REQUIRE(::waitpid(child, &status, 0) == child);
    const std::int64_t before = rows_of(file, "measurements");

    const auto results = run();
    REQUIRE(results.size() == kernel.problems.size());
    for (const TuningResult& result : results) CHECK(result.profile);
    CHECK(rows_of(file, "runs") == 1);
    CHECK(rows_of(file, "measurements") > before);
    const std::string screened = "measurements WHERE visit = 0 AND status <> 'constraint'";
    CHECK(rows_of(file, screened) <= kEvaluations);
    CHECK(rows_of(file, "(SELECT 1 FROM " + screened + " GROUP BY problem, configuration HAVING count(*) > 1)") == 0);
  }
}

TEST_CASE("what was measured of a described kernel is recorded, and a replay finds the fastest of it") {
  for (const Life& life : lives()) {
    CAPTURE(life.name);
    DescribedKernel kernel(life.name);
    kernel.problems.resize(1);
    ProfileStore store(":memory:", ProfileStore::Access::read_write, kernel.families);
    TunerOptions options;
    options.prune_factor = std::numeric_limits<double>::infinity();
    const auto results = kernel.tune(store, 5, options);
    REQUIRE(results.front().profile);
    const RecordedFamily recording(recorded(store, kernel.family, results.front().profile->key));
    REQUIRE(recording.recording().configurations.size() == 5);
    double fastest = std::numeric_limits<double>::infinity();
    for (const RecordedOutcome& outcome : recording.recording().outcomes) {
      fastest = std::min(fastest, outcome.time.value_or(fastest));
    }
    const auto now = std::make_shared<double>(0.0);
    ReplayEvaluator evaluator(recording, now);
    ProfileStore replayed(":memory:", ProfileStore::Access::read_write);
    StopCondition stop({}, {}, [now] { return *now; });
    const auto found = Tuner(evaluator, replayed, options).tune({recording.problem()}, stop);
    REQUIRE(found.front().profile);
    CHECK(found.front().profile->time == doctest::Approx(fastest));
  }
}

TEST_CASE("arguments of 8 bits and unsigned ones") {
  const DescribedKernel kernel("levels");
  ProfileStore store(":memory:", ProfileStore::Access::read_write, kernel.families);
  const auto results = kernel.tune(store, 6);
  REQUIRE(results.front().profile);
  CHECK(results.front().profile->worst_error == 0.0);
}

}  // namespace heddle
