#include "heddle/profiles/profile_store.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/profiles/database.hpp"
#include "heddle/profiles/owner.hpp"

namespace heddle {

namespace {

// Both end in: identity, family, problem, source hash, configuration, worst error, samples, then the provenance.
constexpr const char* kCommonColumns =
    "d.identity, r.family, r.problem, r.source_hash, r.configuration, r.worst_error, r.samples, "
    "p.driver, p.compiler, p.tool, p.host, p.clocks, r.date, p.seed, p.strategy";
/// Of the tables profiles and aside.
constexpr const char* kProfileColumns =
    "device, family, problem, source_hash, configuration, time, spread, worst_error, samples, ties, imported, "
    "provenance, date, run";
constexpr const char* kJoins = "JOIN devices d ON d.id = r.device JOIN provenances p ON p.id = r.provenance";
constexpr const char* kOfKey = "d.identity = ? AND r.family = ? AND r.problem = ?";

std::string json_array(const std::vector<double>& numbers) {
  std::string text = "[";
  for (const double number : numbers) text += fmt::format("{}{}", text.size() > 1 ? "," : "", number);
  return text + "]";
}

std::vector<double> parse_json_array(std::string_view text) {
  std::vector<double> numbers;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end && *at != ']';) {
    double number = 0.0;
    const auto [after, error] = std::from_chars(at + 1, end, number);  // past '[' or ','
    if (error != std::errc()) break;
    numbers.push_back(number);
    at = after;
  }
  return numbers;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return lines;
}

/// Without the axes of a family: the file may hold families that this heddle does not have.
Problem parse_problem(std::string_view text) {
  std::vector<Axis> axes;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view field = rest.substr(0, rest.find(' '));
    axes.push_back({.name = std::string(field.substr(0, field.find('='))),
                    .weight = 1.0,
                    .maximum = std::numeric_limits<std::int64_t>::max()});
    rest.remove_prefix(std::min(field.size() + 1, rest.size()));
  }
  return Problem::parse(text, axes);
}

ProfileKey key_of(SQLite::Statement& row) {
  return {.device = DeviceIdentity::parse(row.getColumn("identity").getString()),
          .family = row.getColumn("family").getString(),
          .problem = parse_problem(row.getColumn("problem").getString())};
}

Provenance provenance_of(SQLite::Statement& row) {
  return {.driver = row.getColumn("driver").getString(),
          .compiler = row.getColumn("compiler").getString(),
          .tool = row.getColumn("tool").getString(),
          .host = row.getColumn("host").getString(),
          .clocks = row.getColumn("clocks").getString(),
          .date = row.getColumn("date").getString(),
          .seed = row.getColumn("seed").getInt64(),
          .strategy = row.getColumn("strategy").getString()};
}

/// Binds its arguments in order to the placeholders of a statement.
template <class... Arguments>
void bind_all(SQLite::Statement& statement, const Arguments&... arguments) {
  int index = 0;
  (statement.bind(++index, arguments), ...);
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

struct ProfileStore::Implementation {
  std::filesystem::path file;
  Patience patience;
  SQLite::Database database;

  /// Every use of the database goes through this: what SQLite throws becomes one line that names the file.
  template <class Work>
  auto guarded(const Work& work) {
    try {
      return work();
    } catch (const SQLite::Exception& exception) {
      throw explained(exception, file, patience);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      throw Error(ErrorKind::profiles, fmt::format("profile database {}: damaged: {}", file.string(), error.what()));
    }
  }

  /// One transaction for `work`, or a part of the one that is open.
  template <class Work>
  auto in_transaction(const Work& work) {
    return guarded([&] {
      if (sqlite3_get_autocommit(database.getHandle()) == 0) return work();
      SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
      if constexpr (std::is_void_v<decltype(work())>) {
        work();
        transaction.commit();
      } else {
        auto result = work();
        transaction.commit();
        return result;
      }
    });
  }

  std::int64_t device(const DeviceIdentity& identity) {
    SQLite::Statement row(database,
                          "INSERT INTO devices (identity, backend, name, architecture) VALUES (?, ?, ?, ?) "
                          "ON CONFLICT (identity) DO UPDATE SET name = excluded.name RETURNING id");
    bind_all(row, identity.text(), identity.backend, identity.name, identity.architecture);
    row.executeStep();
    return row.getColumn(0).getInt64();
  }

  std::int64_t provenance(const Provenance& p) {
    SQLite::Statement row(database,
                          "INSERT INTO provenances (driver, compiler, tool, host, clocks, seed, strategy) "
                          "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET seed = excluded.seed RETURNING id");
    bind_all(row, p.driver, p.compiler, p.tool, p.host, p.clocks, p.seed, p.strategy);
    row.executeStep();
    return row.getColumn(0).getInt64();
  }

  void insert(const Measurement& m) {
    SQLite::Statement row(database,
                          "INSERT INTO measurements (device, family, problem, source_hash, configuration, status, "
                          "times, samples, cold_cache, compile_seconds, worst_error, message, provenance, date, run, "
                          "visit, cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    // SQLite takes NaN for NULL.
    const double worst_error = std::isnan(m.worst_error) ? std::numeric_limits<double>::infinity() : m.worst_error;
    bind_all(row, device(m.key.device), m.key.family, m.key.problem.text(), m.source_hash, m.configuration,
             std::string(text(m.status)), json_array(m.times), m.samples, m.cold_cache ? 1 : 0, m.compile_seconds,
             worst_error, m.message, provenance(m.provenance), m.provenance.date, m.run, m.visit);
    if (m.cost) row.bind(row.getBindParameterCount(), *m.cost);
    row.exec();
  }

  void replace(const Profile& p) {
    SQLite::Statement row(database,
                          "INSERT OR REPLACE INTO profiles (device, family, problem, source_hash, configuration, time, "
                          "spread, worst_error, samples, ties, imported, provenance, date, run) "
                          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    bind_all(row, device(p.key.device), p.key.family, p.key.problem.text(), p.source_hash, p.configuration, p.time,
             p.spread, p.worst_error, p.samples, joined_lines(p.ties), p.imported ? 1 : 0, provenance(p.provenance),
             p.provenance.date, p.run);
    row.exec();
  }

  /// The rows of `condition`, whose placeholders are bound to `arguments`.
  template <class... Arguments>
  std::vector<Profile> profiles(const std::string& condition, const Arguments&... arguments) {
    return profiles_in("profiles", condition, arguments...);
  }

  /// `table`: profiles or aside.
  template <class... Arguments>
  std::vector<Profile> profiles_in(const char* table, const std::string& condition, const Arguments&... arguments) {
    SQLite::Statement row(
        database, fmt::format("SELECT r.time, r.spread, r.ties, r.imported, r.run, {} FROM {} r {} {}", kCommonColumns,
                              table, kJoins, condition));
    bind_all(row, arguments...);
    std::vector<Profile> found;
    while (row.executeStep()) {
      found.push_back({.key = key_of(row),
                       .source_hash = row.getColumn("source_hash").getString(),
                       .configuration = row.getColumn("configuration").getString(),
                       .time = row.getColumn("time").getDouble(),
                       .spread = row.getColumn("spread").getDouble(),
                       .worst_error = row.getColumn("worst_error").getDouble(),
                       .samples = row.getColumn("samples").getInt64(),
                       .ties = split_lines(row.getColumn("ties").getString()),
                       .imported = row.getColumn("imported").getInt() != 0,
                       .run = row.getColumn("run").getInt64(),
                       .provenance = provenance_of(row)});
    }
    return found;
  }

  /// The rows of `condition`, whose placeholders are bound to `arguments`.
  template <class... Arguments>
  std::vector<Measurement> measurements(const std::string& condition, const Arguments&... arguments) {
    SQLite::Statement row(database,
                          fmt::format("SELECT r.status, r.times, r.cold_cache, r.compile_seconds, r.message, r.cost, "
                                      "r.run, r.visit, {} FROM measurements r {} {}",
                                      kCommonColumns, kJoins, condition));
    bind_all(row, arguments...);
    std::vector<Measurement> found;
    while (row.executeStep()) {
      const std::string status = row.getColumn("status").getString();
      const auto parsed = parse_status(status);
      if (!parsed) throw Error(ErrorKind::input, fmt::format("a measurement with status '{}'", status));
      const SQLite::Column cost = row.getColumn("cost");
      found.push_back({.key = key_of(row),
                       .source_hash = row.getColumn("source_hash").getString(),
                       .configuration = row.getColumn("configuration").getString(),
                       .status = *parsed,
                       .times = parse_json_array(row.getColumn("times").getString()),
                       .samples = row.getColumn("samples").getInt64(),
                       .cold_cache = row.getColumn("cold_cache").getInt() != 0,
                       .compile_seconds = row.getColumn("compile_seconds").getDouble(),
                       .worst_error = row.getColumn("worst_error").getDouble(),
                       .message = row.getColumn("message").getString(),
                       .cost = cost.isNull() ? std::nullopt : std::optional(cost.getDouble()),
                       .run = row.getColumn("run").getInt64(),
                       .visit = row.getColumn("visit").getInt64(),
                       .provenance = provenance_of(row)});
    }
    return found;
  }

  /// Deletes the profile of `key` from `table`, and what `condition` says besides.
  void remove_from(const char* table, const char* condition, const ProfileKey& key) {
    SQLite::Statement row(database, fmt::format("DELETE FROM {} WHERE device = (SELECT id FROM devices WHERE "
                                                "identity = ?) AND family = ? AND problem = ? {}",
                                                table, condition));
    bind_all(row, key.device.text(), key.family, key.problem.text());
    row.exec();
  }

  std::optional<Profile> find(const ProfileKey& key) {
    auto found = profiles(fmt::format("WHERE {}", kOfKey), key.device.text(), key.family, key.problem.text());
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  }
};

ProfileStore::ProfileStore(const std::filesystem::path& file, Access access, std::chrono::milliseconds patience)
    : implementation_(new Implementation{
          file, patience,
          access == Access::read ? open_for_reading(file, patience) : open_for_writing(file, patience)}) {}
ProfileStore::~ProfileStore() = default;
ProfileStore::ProfileStore(ProfileStore&&) noexcept = default;
ProfileStore& ProfileStore::operator=(ProfileStore&&) noexcept = default;

std::filesystem::path ProfileStore::default_file() {
  const std::string named = environment("HEDDLE_PROFILES");
  if (!named.empty()) return named;
  const std::filesystem::path below = std::filesystem::path("heddle") / "profiles.sqlite";
  const std::filesystem::path data = environment("XDG_DATA_HOME");
  if (data.is_absolute()) return data / below;  // the specification has relative ones ignored
  const std::filesystem::path home = environment("HOME");
  if (home.is_absolute()) return home / ".local" / "share" / below;
  throw Error(ErrorKind::profiles,
              "no place for the profile database: expected --profiles, HEDDLE_PROFILES, XDG_DATA_HOME or HOME");
}

const std::filesystem::path& ProfileStore::file() const { return implementation_->file; }

void ProfileStore::record(const Measurement& measurement) {
  implementation_->in_transaction([&] { implementation_->insert(measurement); });
}

void ProfileStore::record(const std::vector<Measurement>& measurements) {
  implementation_->in_transaction([&] {
    for (const Measurement& measurement : measurements) implementation_->insert(measurement);
  });
}

std::vector<Measurement> ProfileStore::measurements(const std::optional<ProfileKey>& key) const {
  return implementation_->guarded([&] {
    constexpr const char* kNewestFirst = "ORDER BY r.id DESC";
    if (!key) return implementation_->measurements(kNewestFirst);
    return implementation_->measurements(fmt::format("WHERE {} {}", kOfKey, kNewestFirst), key->device.text(),
                                         key->family, key->problem.text());
  });
}

std::vector<Measurement> ProfileStore::known(const ProfileKey& key, const Measurement& like,
                                             const TuningRun& run) const {
  return implementation_->guarded([&] {
    return implementation_->measurements(
        fmt::format("WHERE {} AND r.source_hash = ? AND p.driver = ? AND p.compiler = ? "
                    "AND (r.run = ? OR r.id <= (SELECT horizon FROM runs WHERE id = ?)) ORDER BY r.id",
                    kOfKey),
        key.device.text(), key.family, key.problem.text(), like.source_hash, like.provenance.driver,
        like.provenance.compiler, run.id, run.id);
  });
}

TuningRun ProfileStore::begin_run(const std::string& task) {
  return implementation_->in_transaction([&] {
    SQLite::Database& database = implementation_->database;
    SQLite::Statement unfinished(database,
                                 "SELECT id, owner, seconds FROM runs WHERE task = ? AND NOT ended ORDER BY id DESC");
    bind_all(unfinished, task);
    TuningRun run;
    while (!run.resumed && unfinished.executeStep()) {
      if (may_be_running(unfinished.getColumn("owner").getString())) continue;
      run = {.id = unfinished.getColumn("id").getInt64(),
             .resumed = true,
             .seconds = unfinished.getColumn("seconds").getDouble()};
    }
    if (run.resumed) {
      SQLite::Statement row(database, "UPDATE runs SET owner = ? WHERE id = ?");
      bind_all(row, this_process(), run.id);
      row.exec();
      return run;
    }
    SQLite::Statement row(database,
                          "INSERT INTO runs (task, owner, horizon, seconds, ended) VALUES "
                          "(?, ?, (SELECT coalesce(max(id), 0) FROM measurements), 0, 0) RETURNING id");
    bind_all(row, task, this_process());
    row.executeStep();
    run.id = row.getColumn(0).getInt64();
    row.reset();
    SQLite::Statement snapshot(
        database, fmt::format("INSERT INTO aside ({0}, kept_for) SELECT {0}, ? FROM profiles", kProfileColumns));
    bind_all(snapshot, run.id);
    snapshot.exec();
    return run;
  });
}

std::vector<Profile> ProfileStore::profiles_before(const TuningRun& run) const {
  auto found =
      implementation_->guarded([&] { return implementation_->profiles_in("aside", "WHERE r.kept_for = ?", run.id); });
  std::ranges::sort(found, {}, &Profile::key);
  return found;
}

void ProfileStore::spent(const TuningRun& run, double seconds) {
  implementation_->in_transaction([&] {
    SQLite::Statement row(implementation_->database, "UPDATE runs SET seconds = ? WHERE id = ?");
    bind_all(row, seconds, run.id);
    row.exec();
  });
}

void ProfileStore::end_run(const TuningRun& run, bool finished) {
  implementation_->in_transaction([&] {
    SQLite::Statement row(implementation_->database, "UPDATE runs SET owner = '', ended = ? WHERE id = ?");
    bind_all(row, finished ? 1 : 0, run.id);
    row.exec();
    if (!finished) return;
    SQLite::Statement snapshot(implementation_->database, "DELETE FROM aside WHERE kept_for = ?");
    bind_all(snapshot, run.id);
    snapshot.exec();
    implementation_->database.exec(
        "DELETE FROM aside WHERE kept_for = 0 AND (device, family, problem) NOT IN "
        "(SELECT device, family, problem FROM profiles WHERE imported)");
  });
}

void ProfileStore::keep(const Profile& profile) {
  implementation_->in_transaction([&] { implementation_->replace(profile); });
}

bool ProfileStore::keep_if_better(const Profile& profile) {
  return implementation_->in_transaction([&] {
    const auto present = implementation_->find(profile.key);
    if (present && !present->imported && present->source_hash == profile.source_hash && present->time <= profile.time) {
      return false;
    }
    implementation_->replace(profile);
    return true;
  });
}

std::optional<Profile> ProfileStore::find(const ProfileKey& key) const {
  return implementation_->guarded([&] { return implementation_->find(key); });
}

std::vector<Profile> ProfileStore::profiles(const std::string& family) const {
  auto found = implementation_->guarded([&] {
    return family.empty() ? implementation_->profiles("") : implementation_->profiles("WHERE r.family = ?", family);
  });
  std::ranges::sort(found, {}, &Profile::key);
  return found;
}

void ProfileStore::remove(const ProfileKey& key) {
  implementation_->in_transaction([&] { implementation_->remove_from("profiles", "", key); });
}

void ProfileStore::keep_for_now(const Profile& profile) {
  implementation_->in_transaction([&] {
    const auto present = implementation_->find(profile.key);
    if (present && !present->imported) {
      SQLite::Statement row(
          implementation_->database,
          fmt::format("INSERT OR REPLACE INTO aside ({0}, kept_for) SELECT {0}, 0 FROM profiles WHERE device = "
                      "(SELECT id FROM devices WHERE identity = ?) AND family = ? AND problem = ?",
                      kProfileColumns));
      bind_all(row, profile.key.device.text(), profile.key.family, profile.key.problem.text());
      row.exec();
    }
    implementation_->replace(profile);
  });
}

std::optional<Profile> ProfileStore::displaced(const ProfileKey& key) const {
  return implementation_->guarded([&]() -> std::optional<Profile> {
    auto found = implementation_->profiles_in("aside", fmt::format("WHERE r.kept_for = 0 AND {}", kOfKey),
                                              key.device.text(), key.family, key.problem.text());
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  });
}

std::vector<Profile> ProfileStore::displaced() const {
  auto found = implementation_->guarded([&] { return implementation_->profiles_in("aside", "WHERE r.kept_for = 0"); });
  std::ranges::sort(found, {}, &Profile::key);
  return found;
}

void ProfileStore::forget_displaced(const ProfileKey& key) {
  implementation_->in_transaction([&] { implementation_->remove_from("aside", "AND kept_for = 0", key); });
}

bool ProfileStore::restore_displaced(const ProfileKey& key) {
  return implementation_->in_transaction([&] {
    const auto local = displaced(key);
    if (!local) return false;
    implementation_->replace(*local);
    implementation_->remove_from("aside", "AND kept_for = 0", key);
    return true;
  });
}

void ProfileStore::atomically(const std::function<void()>& work) { implementation_->in_transaction(work); }

ProfileStore::Pruned ProfileStore::prune(const std::vector<Current>& current) {
  return implementation_->in_transaction([&] {
    SQLite::Database& database = implementation_->database;
    database.exec("CREATE TEMP TABLE current (family TEXT, backend TEXT, source_hash TEXT)");
    for (const Current& each : current) {
      SQLite::Statement row(database, "INSERT INTO temp.current VALUES (?, ?, ?)");
      bind_all(row, each.family, each.backend, each.source_hash);
      row.exec();
    }
    const auto delete_from = [&](const char* table) {
      return std::int64_t{database.exec(
          fmt::format("WITH listed AS (SELECT c.family, c.source_hash, d.id AS device "
                      "FROM temp.current c JOIN devices d ON d.backend = c.backend) "
                      "DELETE FROM {0} WHERE (family, device) IN (SELECT family, device FROM listed) "
                      "AND (family, device, source_hash) NOT IN (SELECT family, device, source_hash FROM listed)",
                      table))};
    };
    const Pruned pruned{.measurements = delete_from("measurements"), .profiles = delete_from("profiles")};
    for (const auto& [table, column] : {std::pair("devices", "device"), std::pair("provenances", "provenance")}) {
      database.exec(
          fmt::format("DELETE FROM {0} WHERE id NOT IN (SELECT {1} FROM measurements UNION SELECT {1} FROM profiles "
                      "UNION SELECT {1} FROM aside)",
                      table, column));
    }
    database.exec("DROP TABLE temp.current");
    return pruned;
  });
}

}  // namespace heddle
