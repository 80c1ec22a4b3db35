// Runs that are killed, continued, and run beside each other, on a device that answers from a formula.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fake_evaluator.hpp"
#include "fmt/format.h"
#include "heddle/tuner/tuner.hpp"
#include "tuner/temporary_store.hpp"

using namespace heddle;

namespace {

/// Counters that processes share.
struct Shared {
  std::atomic<int> prepared{0};
  std::atomic<std::int64_t> measured{0};  ///< configurations, by runs that ended
};

Shared& shared() {
  static auto* const counters =
      new (::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared;
  return *counters;
}

std::vector<Problem> problems() {
  std::vector<Problem> all;
  for (const std::int64_t size : {4, 16, 64}) all.push_back(fake::problem(size));
  return all;
}

struct Task {
  std::string strategy;
  std::uint64_t seed = 1;
  std::optional<std::int64_t> evaluations = {};
  unsigned microseconds = 0;   ///< that preparing a configuration takes
  int preparations = 1 << 30;  ///< after which the run breaks off, as if it were killed
};

constexpr int kBrokenOff = 77;

void tune(const std::filesystem::path& file, const Task& task) {
  const fake::Family family;
  fake::FakeEvaluator evaluator(family);
  evaluator.noise = 0.0;
  evaluator.outliers = 0.0;
  const auto formula = evaluator.cost;
  evaluator.cost = [&](const Configuration& c, const Problem& p) {
    if (++shared().prepared > task.preparations) ::_exit(kBrokenOff);
    if (task.microseconds > 0) ::usleep(task.microseconds);
    return formula(c, p) * (1.0 + 1e-6 * static_cast<double>(std::hash<std::string>{}(c.text()) % 1000));
  };
  evaluator.fate = [](const Configuration& c) {
    switch (c.number("width") * 10 + c.number("depth")) {
      case 84:
      case 104:
        return Status::wrong_result;
      case 93:
        return Status::compilation;
      case 75:
        return Status::overrun;
      case 55:
        return Status::illegal_access;
      default:
        return Status::correct;
    }
  };
  ProfileStore store(file, ProfileStore::Access::read_write);
  StopCondition stop({.seconds = {}, .evaluations = task.evaluations});
  for (const TuningResult& result :
       Tuner(evaluator, store, {.strategy = task.strategy, .seed = task.seed}).tune(problems(), stop)) {
    shared().measured += result.evaluations() - result.recalled;
  }
}

pid_t start(const std::filesystem::path& file, const Task& task) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    tune(file, task);
  } catch (const std::exception& error) {
    fmt::print(stderr, "a run ended: {}\n", error.what());
    ::_exit(1);
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

using Row = std::tuple<std::string, std::string, std::string, std::int64_t, std::vector<double>, double>;

/// Everything a run left behind, but for dates. How often the screening times a default depends on whether the device
/// was idle before, as it is when a process begins: of equal times one is kept.
std::multiset<Row> contents(const std::filesystem::path& file) {
  std::multiset<Row> rows;
  const ProfileStore store(file, ProfileStore::Access::read);
  for (const Measurement& m : store.measurements()) {
    std::vector<double> times = m.times;
    if (m.visit == 0) times.erase(std::unique(times.begin(), times.end()), times.end());
    rows.insert(
        {m.key.problem.text(), m.configuration, std::string(text(m.status)), m.visit, times, m.cost.value_or(-1.0)});
  }
  for (const Profile& p : store.profiles()) {
    std::string configurations = p.configuration;
    for (const std::string& tie : p.ties) configurations += "; " + tie;
    rows.insert({p.key.problem.text(), configurations, "profile", p.samples, {p.time, p.spread, p.worst_error}, 0.0});
  }
  return rows;
}

std::string only_in(const std::multiset<Row>& these, const std::multiset<Row>& those) {
  std::vector<Row> rows;
  std::set_difference(these.begin(), these.end(), those.begin(), those.end(), std::back_inserter(rows));
  std::string text;
  for (const auto& [problem, configuration, status, visit, times, cost] : rows) {
    text += fmt::format("{} {} {} visit {} times {} cost {}\n", problem, configuration, status, visit,
                        fmt::join(times, " "), cost);
  }
  return text;
}

std::string integrity(const std::filesystem::path& file) {
  return SQLite::Database(file.string(), SQLite::OPEN_READWRITE).execAndGet("PRAGMA integrity_check").getString();
}

/// Whether the run had come to its end before the process was killed.
bool has_ended(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return false;
  SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
  return database.tableExists("runs") && database.execAndGet("SELECT count(*) FROM runs WHERE ended").getInt() > 0;
}

}  // namespace

TEST_CASE("killed two hundred times at random moments, a run ends as if nobody had disturbed it") {
  std::mt19937 random(20);
  int kills = 0;
  while (kills < 200) {
    const std::vector<Task> tasks{
        {.strategy = "exhaustive", .seed = 1, .evaluations = {}, .microseconds = 1000},
        {.strategy = std::string(strategies().front().name), .seed = 7, .evaluations = 150, .microseconds = 1000}};
    for (const Task& task : tasks) {
      CAPTURE(task.strategy);
      const TemporaryFolder undisturbed;
      shared().prepared = 0;
      const auto clock = StopCondition::steady_clock();
      const double begin = clock();
      REQUIRE(wait_for(start(undisturbed.path() / "p", task)) == 0);
      double longest = (clock() - begin) / 6.0;  // until the next kill; grows, since what is known is asked again too
      const int needed = shared().prepared;
      const auto expected = contents(undisturbed.path() / "p");

      const TemporaryFolder folder;
      const std::filesystem::path file = folder.path() / "p";
      shared().prepared = 0;
      int here = 0;
      for (bool finished = false; !finished; ++here) {
        const pid_t child = start(file, task);
        longest *= 1.03;
        const double until = std::uniform_real_distribution<double>(0.0, longest)(random);
        ::usleep(static_cast<useconds_t>((random() % 2 == 0 ? 0.1 : 1.0) * until * 1e6));
        ::kill(child, SIGKILL);
        const int end = wait_for(child);
        REQUIRE((end == -SIGKILL || end == 0));
        REQUIRE(here < 1000);
        if (std::filesystem::exists(file)) CHECK(integrity(file) == "ok");
        finished = end == 0 || has_ended(file);
      }
      kills += here;
      const auto found = contents(file);
      CHECK(only_in(found, expected) == "");
      CHECK(only_in(expected, found) == "");
      // One configuration was being measured when it was killed, or the finals of one problem.
      CHECK(shared().prepared <= needed + 12 * here);
      const SQLite::Database database(file.string(), SQLite::OPEN_READONLY);
      SQLite::Statement twice(database,
                              "SELECT count(*) FROM (SELECT 1 FROM measurements WHERE visit = 0 AND status <> "
                              "'constraint' GROUP BY problem, configuration HAVING count(*) > 1)");
      twice.executeStep();
      CHECK(twice.getColumn(0).getInt() == 0);
    }
  }
  MESSAGE(kills << " kills");
}

TEST_CASE("broken off after any number of measurements, a run ends as if nobody had disturbed it") {
  const TemporaryFolder folder;
  shared().prepared = 0;
  tune(folder.path() / "undisturbed", {.strategy = "exhaustive"});
  const int needed = shared().prepared;
  const auto expected = contents(folder.path() / "undisturbed");
  for (int preparations = 1; preparations < needed; preparations += preparations < 120 ? 1 : 7) {
    CAPTURE(preparations);
    const std::filesystem::path file = folder.path() / fmt::format("{}", preparations);
    shared().prepared = 0;
    CHECK(wait_for(start(file, {.strategy = "exhaustive", .preparations = preparations})) == kBrokenOff);
    CHECK(wait_for(start(file, {.strategy = "exhaustive"})) == 0);
    const auto found = contents(file);
    CHECK(only_in(found, expected) == "");
    CHECK(only_in(expected, found) == "");
  }
}

TEST_CASE("eight processes tuning into one database lose nothing") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "p";
  constexpr std::int64_t kEach = 40;  // few enough that the last one finds something that nobody has measured
  shared().measured = 0;
  std::vector<pid_t> children;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    children.push_back(start(file, {.strategy = "random", .seed = seed, .evaluations = kEach, .microseconds = 200}));
  }
  for (const pid_t child : children) CHECK(wait_for(child) == 0);
  CHECK(integrity(file) == "ok");
  const ProfileStore store(file, ProfileStore::Access::read);
  std::map<std::int64_t, std::int64_t> runs;
  for (const Measurement& m : store.measurements()) {
    CHECK(m.run > 0);
    if (m.visit == 0 && m.status != Status::constraint) ++runs[m.run];
  }
  CHECK(runs.size() == 8);
  std::int64_t found = 0;
  for (const auto& of_run : runs) {
    CAPTURE(of_run.first);
    CHECK(of_run.second <= kEach);
    found += of_run.second;
  }
  CHECK(found == shared().measured);
  CHECK(store.profiles().size() == problems().size());
}

TEST_CASE("a second run goes on where the first one ended instead of measuring the same again") {
  const TemporaryStore temporary;
  const fake::Family family;
  const std::vector<Problem> one{fake::problem(64)};
  std::set<std::string> measured;
  for (int times = 0; times < 3; ++times) {
    fake::FakeEvaluator evaluator(family);
    StopCondition stop({.seconds = {}, .evaluations = 40});
    const auto results = Tuner(evaluator, temporary.store, {.strategy = "random"}).tune(one, stop);
    CHECK(results.at(0).evaluations() - results.at(0).recalled == 40);
    CHECK(results.at(0).recalled <= 40 * times);  // what is known now may lead elsewhere
    CHECK(results.at(0).recalled >= 30 * times);
  }
  for (const Measurement& m : temporary.store.measurements()) {
    if (m.visit == 0) CHECK(measured.insert(m.configuration).second);
  }
  CHECK(measured.size() == 120);
}
