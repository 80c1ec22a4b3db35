// Opens damaged profile databases by the thousand: database_mutations [COUNT [SEED]]. Half of them are damaged as
// bytes, half as rows that somebody edited. Each is read and written to like any other: that works, or is refused with
// one line; nothing else.
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fuzz/import_target.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/profiles/exchange.hpp"

namespace {

using namespace heddle;
using Random = std::mt19937_64;
namespace fs = std::filesystem;

std::size_t below(Random& random, std::size_t bound) { return bound == 0 ? 0 : random() % bound; }

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

[[noreturn]] void report(const std::string& what, const fs::path& file) {
  std::fputs(fmt::format("{}: see {}\n", what, file.string()).c_str(), stderr);
  std::abort();
}

Measurement measurement(const Profile& of) {
  return {.key = of.key,
          .kernels = of.kernels,
          .configuration = of.configuration,
          .status = Status::correct,
          .times = {of.time, 2 * of.time, 0.1},
          .samples = of.samples,
          .compile_seconds = 0.25,
          .worst_error = 1e-5,
          .message = "",
          .cost = of.time,
          .run = 1,
          .visit = 0,
          .provenance = of.provenance};
}

/// Every table has rows, and some of them take several pages.
void make_database(const fs::path& file) {
  ProfileStore store(file, ProfileStore::Access::read_write);
  for (const std::string& document : test::good_documents()) (void)import_document(store, document, "the document");
  const std::vector<Profile> profiles = store.profiles();
  for (Profile profile : profiles) {
    profile.imported = false;
    store.keep(profile);
    profile.time = 1.0;
    store.keep_for_now(profile);
    store.record(std::vector<Measurement>(40, measurement(profile)));
  }
  const TuningRun run = store.begin_run("weave");
  store.spent(run, 1.0);
}

std::string damaged(Random& random, std::string bytes) {
  switch (random() % 5) {
    case 0:  // bits
      for (std::size_t times = 1 + below(random, 20); times > 0; --times) {
        bytes[below(random, bytes.size())] ^= static_cast<char>(1 << random() % 8);
      }
      return bytes;
    case 1:  // a header, of the file or of a page
      bytes[below(random, bytes.size() / 4096) * 4096 + below(random, 110)] = static_cast<char>(random());
      return bytes;
    case 2: {  // one page in place of another
      const std::size_t from = below(random, bytes.size() / 4096) * 4096;
      return bytes.replace(below(random, bytes.size() / 4096) * 4096, 4096, bytes.substr(from, 4096));
    }
    case 3:
      bytes.resize(below(random, bytes.size()));
      return bytes;
    default: {
      const std::size_t at = below(random, bytes.size()), length = std::min<std::size_t>(64, bytes.size() - at);
      for (std::size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<char>(random());
      return bytes;
    }
  }
}

const std::vector<const char*> kValues{"9e999",
                                       "-9e999",
                                       "-1",
                                       "0",
                                       "1",
                                       "1e308",
                                       "1e-320",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       "''",
                                       "'x'",
                                       "'rules=1'",
                                       "'rules=99999999999 dim=1 outputs=1'",
                                       "'rules=16384 dim=16384 outputs=4096 rows=2147483647'",
                                       "'[1,2'",
                                       "'[inf,nan]'",
                                       "'[1e999]'",
                                       "'correct'",
                                       "'tsk-linear'",
                                       "'carpet'",
                                       "char(27, 91, 50, 74)",
                                       "zeroblob(3)",
                                       "replace(hex(zeroblob(50000)), '00', 'x=1 ')",
                                       "NULL"};

void edit(Random& random, const fs::path& file) {
  const std::vector<std::pair<const char*, std::vector<const char*>>> tables{
      {"devices", {"identity", "backend", "name", "architecture"}},
      {"provenances", {"driver", "compiler", "seed", "strategy"}},
      {"measurements",
       {"device", "family", "problem", "source_hash", "contract_digest", "configuration", "status", "times", "samples",
        "compile_seconds", "worst_error", "message", "provenance", "date", "run", "visit", "cost"}},
      {"profiles",
       {"device", "family", "problem", "source_hash", "contract_digest", "configuration", "time", "spread",
        "worst_error", "samples", "ties", "imported", "provenance", "date", "run", "record"}},
      {"profile_snapshots", {"kept_for", "family", "problem", "configuration", "time", "samples", "ties"}},
      {"runs", {"task", "owner", "horizon", "seconds", "ended"}}};
  SQLite::Database database(file, SQLite::OPEN_READWRITE);
  for (std::size_t times = 1 + below(random, 3); times > 0; --times) {
    const auto& [table, columns] = tables[below(random, tables.size())];
    try {
      if (random() % 12 == 0) {
        database.exec(fmt::format("{} {}", random() % 2 == 0 ? "DELETE FROM" : "DROP TABLE", table));
        continue;
      }
      database.exec(fmt::format("UPDATE {} SET {} = {} {}", table, columns[below(random, columns.size())],
                                kValues[below(random, kValues.size())],
                                random() % 2 == 0 ? "" : "WHERE (abs(random()) % 3) = 0"));
    } catch (const SQLite::Exception&) {  // STRICT, UNIQUE, NOT NULL
    }
  }
}

/// Everything that is read has passed the checks.
void look(const ProfileStore& store, const fs::path& file) {
  for (const Profile& profile : store.profiles()) {
    if (!(std::isfinite(profile.time) && profile.time > 0.0)) report("a time that is none", file);
    for (const auto& family : builtin_families().all()) {
      if (family->name() != profile.key.family) continue;
      if (misfit(profile.key.problem, family->axes())) report("sizes that the family does not have", file);
    }
  }
  for (const Measurement& each : store.measurements()) {
    for (const double time : each.times) {
      if (!(std::isfinite(time) && time >= 0.0)) report("a time that is none", file);
    }
  }
  (void)store.displaced();
  (void)store.left_out();
}

/// Returns whether it could be used; if not, `why_not` is the last line about it. `with_import`: documents are imported
/// into it, too, which takes longer than everything else.
bool use(const fs::path& file, const fs::path& exported, bool with_import, std::string& why_not) {
  bool usable = true;
  const auto attempt = [&](const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      const std::string line = error.what();
      if (error.kind() != ErrorKind::profiles) report("not an error of the database: " + line, file);
      if (line.find('\n') != std::string::npos) report("not one line: " + line, file);
      usable = false;
      why_not = line;
    }
  };
  attempt([&] { look({file, ProfileStore::Access::read}, file); });
  attempt([&] { export_profiles({file, ProfileStore::Access::read}, exported); });
  attempt([&] {
    ProfileStore store(file, ProfileStore::Access::read_write);
    const TuningRun run = store.begin_run("weave");
    look(store, file);
    (void)store.profiles_before(run);
    if (with_import) {
      for (const std::string& document : test::good_documents()) (void)import_document(store, document, "the document");
    }
    for (const Profile& profile : store.profiles()) {
      Measurement of_run = measurement(profile);
      of_run.run = run.id;
      store.record(of_run);
      (void)store.known(profile.key, of_run, run);
      (void)store.keep_if_better(profile);
      store.restore_displaced(profile.key);
    }
    store.end_run(run, true);
    (void)store.prune([](const std::string& family, const DeviceIdentity& device, const KernelVersion& version) {
      return family == "sonfin-train" && device.backend == "cpu" && version.source_hash != std::string(32, 'a');
    });
  });
  return usable;
}

}  // namespace

int main(int count, char** values) {
  const long mutants = count > 1 ? std::atol(values[1]) : 1000;
  Random random(count > 2 ? std::strtoull(values[2], nullptr, 10) : 1);
  const fs::path folder = fs::temp_directory_path() / fmt::format("heddle-fuzz-{}", ::getpid());
  fs::create_directory(folder);
  make_database(folder / "good.sqlite");
  const std::string good = contents(folder / "good.sqlite");
  std::string why_not;
  if (!use(folder / "good.sqlite", folder / "exported.json", true, why_not)) report(why_not, folder / "good.sqlite");
  long usable = 0;
  for (long i = 0; i < mutants; ++i) {
    const fs::path place = folder / "mutant";
    fs::create_directory(place);
    const fs::path file = place / "p.sqlite";
    if (random() % 2 == 0) {
      write(file, damaged(random, good));
    } else {
      write(file, good);
      edit(random, file);
    }
    usable += use(file, place / "exported.json", random() % 4 == 0, why_not) ? 1 : 0;
    fs::remove_all(place);
  }
  fs::remove_all(folder);
  fmt::print("{} damaged databases: {} still usable, {} refused\n", mutants, usable, mutants - usable);
  return 0;
}
