#include "heddle/profiles/profile_store.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/profiles/database.hpp"
#include "heddle/profiles/file_watch.hpp"
#include "heddle/profiles/owner.hpp"
#include "heddle/profiles/rows.hpp"

namespace heddle {

namespace {

/// All columns of the tables profiles and profile_snapshots.
constexpr const char* kStoredColumns =
    "device, family, problem, source_hash, configuration, time, spread, worst_error, samples, ties, imported, "
    "provenance, date, run, record, contract_digest";
constexpr const char* kOfKey = "d.identity = ? AND r.family = ? AND r.problem = ?";

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

struct ProfileStore::Implementation {
  std::filesystem::path file;
  FamilyRegistry families;
  Patience patience;
  SQLite::Database database;
  std::optional<FileWatch> watch;  ///< of a file that is written

  /// Everything that this object wrote: rescued if the file is lost.
  struct Written {
    std::vector<Measurement> measurements;
    std::vector<Profile> profiles;  ///< a later one replaces an earlier one of the same key
  };
  Written written, uncommitted;

  [[nodiscard]] bool inside_transaction() const { return sqlite3_get_autocommit(database.getHandle()) == 0; }

  /// Every use of the database goes through this: what SQLite throws becomes one line that names the file.
  template <class Work>
  auto guarded(const Work& work) {
    if (inside_transaction()) return work();  // the outer transaction reports errors
    try {
      return work();
    } catch (const SQLite::Exception& exception) {
      if (const auto loss = loss_behind(exception)) rescue(*loss, [] {});
      throw explained(exception, file, patience);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::input) throw;
      std::string line = error.what();  // which may quote anything that is in a row
      std::ranges::replace_if(
          line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
      throw Error(ErrorKind::profiles, fmt::format("profile database {}: damaged: {}", file.string(), line));
    }
  }

  /// One transaction for `work`, or a part of the one that is open.
  template <class Work>
  auto in_transaction(const Work& work) {
    if constexpr (std::is_void_v<decltype(work())>) {
      in_transaction([&] {
        work();
        return true;
      });
    } else {
      if (inside_transaction()) return work();
      return guarded([&] { return whole_or_rescued(work); });
    }
  }

  /// The damage to a file that is written.
  std::optional<Loss> loss() { return watch ? watch->loss(database) : std::nullopt; }
  std::optional<Loss> loss_behind(const SQLite::Exception& exception) {
    if (!watch) return std::nullopt;
    const auto found = loss();
    return !found && cannot_be_read(exception) ? Loss::damaged : found;
  }

  /// The transaction, with a look at the file before and after it.
  template <class Work>
  auto whole_or_rescued(const Work& work) {
    if (const auto before = loss()) rescue(*before, work);
    try {
      auto result = committed(work);
      if (const auto after = loss()) rescue(*after, [] {});
      return result;
    } catch (const SQLite::Exception& exception) {
      if (const auto meanwhile = loss_behind(exception)) rescue(*meanwhile, work);
      throw;
    }
  }

  template <class Work>
  auto committed(const Work& work) {
    uncommitted = {};
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    auto result = work();
    transaction.commit();
    std::ranges::move(uncommitted.measurements, std::back_inserter(written.measurements));
    std::ranges::move(uncommitted.profiles, std::back_inserter(written.profiles));
    return result;
  }

  /// The file is lost. Writes what was written so far, and what `work` writes, into a new one, and throws.
  template <class Work>
  [[noreturn]] void rescue(Loss what, const Work& work) {
    const Written lost = std::exchange(written, {});
    watch.reset();
    SQLite::Database refuge = open_for_writing(kInMemory, patience);
    abandon(std::exchange(database, std::move(refuge)), file, what);
    committed([&] {
      for (const Measurement& measurement : lost.measurements) insert(measurement);
      for (const Profile& profile : lost.profiles) replace(profile);
      return true;
    });
    try {
      committed([&] {
        work();
        return true;
      });
    } catch (const std::exception&) {  // what it could not find there
    }
    throw Error(ErrorKind::profiles, fmt::format("profile database {}: {} while heddle was writing to it; {}",
                                                 file.string(), text(what), rescued()));
  }

  /// Where what was written is now.
  std::string rescued() {
    if (written.measurements.empty() && written.profiles.empty()) return "nothing had been written yet";
    // The numbers of runs mean something in the lost file only.
    database.exec("UPDATE measurements SET run = 0; UPDATE profiles SET run = 0");
    const auto copy = copy_beside(database, file);
    if (!copy) return "what it had written could not be put anywhere else either";
    return fmt::format("what it had written is in {}", copy->string());
  }

  /// Reads back from the file what `run` has written.
  void confirm(const TuningRun& run) {
    if (!watch) return;
    Loss found = Loss::damaged;
    try {
      SQLite::Database reader = open_for_reading(file, patience);
      SQLite::Statement row(reader,
                            "SELECT (SELECT quick_check FROM pragma_quick_check LIMIT 1), "
                            "(SELECT count(*) FROM measurements WHERE run = ?1), "
                            "(SELECT count(*) FROM runs WHERE id = ?1)");
      bind_all(row, run.id);
      row.executeStep();
      const auto measured = std::ranges::count(written.measurements, run.id, &Measurement::run);
      if (row.getColumn(0).getString() == "ok") {
        if (row.getColumn(1).getInt64() >= measured && row.getColumn(2).getInt64() == 1) return;
        found = Loss::incomplete;
      }
    } catch (const SQLite::Exception& exception) {
      if (!cannot_be_read(exception)) throw;
    } catch (const Error&) {  // it is no database of heddle any more, or no further file can be opened
      found = Loss::unreadable;
    }
    rescue(loss().value_or(found), [] {});
  }

  void insert(const Measurement& m) {
    uncommitted.measurements.push_back(m);
    heddle::insert(database, m);
  }

  void replace(const Profile& p) {
    uncommitted.profiles.push_back(p);
    heddle::replace(database, p);
  }

  /// The rows of `condition`, whose placeholders are bound to `arguments`.
  template <class... Arguments>
  std::vector<Profile> profiles(const std::string& condition, const Arguments&... arguments) {
    return profiles_in("profiles", condition, arguments...);
  }

  /// `table`: profiles or profile_snapshots.
  template <class... Arguments>
  std::vector<Profile> profiles_in(const char* table, const std::string& condition, const Arguments&... arguments) {
    return select<Profile>(database, families, table, condition, arguments...);
  }

  template <class... Arguments>
  std::vector<Measurement> measurements(const std::string& condition, const Arguments&... arguments) {
    return select<Measurement>(database, families, "measurements", condition, arguments...);
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

ProfileStore::ProfileStore(const std::filesystem::path& file, Access access, FamilyRegistry families,
                           std::chrono::milliseconds patience)
    : implementation_(new Implementation{
          .file = file,
          .families = std::move(families),
          .patience = patience,
          .database = access == Access::read ? open_for_reading(file, patience) : open_for_writing(file, patience),
          .watch = access == Access::read || file == kInMemory ? std::nullopt : std::optional(FileWatch()),
          .written = {},
          .uncommitted = {}}) {}
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

const FamilyRegistry& ProfileStore::families() const { return implementation_->families; }

std::vector<std::string> ProfileStore::left_out() const {
  return implementation_->guarded([&] {
    SQLite::Statement row(implementation_->database,
                          "SELECT family, problem FROM profiles UNION SELECT family, problem FROM measurements");
    std::vector<std::string> reasons;
    while (row.executeStep()) {
      if (auto reason =
              why_left_out(implementation_->families, row.getColumn(0).getString(), row.getColumn(1).getString())) {
        reasons.push_back(std::move(*reason));
      }
    }
    return reasons;
  });
}

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
        fmt::format(
            "WHERE {} AND r.source_hash = ? AND r.contract_digest IN ('', ?) AND p.driver = ? AND p.compiler = ? "
            "AND (r.run = ? OR r.id <= (SELECT horizon FROM runs WHERE id = ?)) ORDER BY r.id",
            kOfKey),
        key.device.text(), key.family, key.problem.text(), like.kernels.source_hash, like.kernels.contract_digest,
        like.provenance.driver, like.provenance.compiler, run.id, run.id);
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
        database,
        fmt::format("INSERT INTO profile_snapshots ({0}, kept_for) SELECT {0}, ? FROM profiles", kStoredColumns));
    bind_all(snapshot, run.id);
    snapshot.exec();
    return run;
  });
}

std::vector<Profile> ProfileStore::profiles_before(const TuningRun& run) const {
  auto found = implementation_->guarded(
      [&] { return implementation_->profiles_in("profile_snapshots", "WHERE r.kept_for = ?", run.id); });
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
    SQLite::Statement snapshot(implementation_->database, "DELETE FROM profile_snapshots WHERE kept_for = ?");
    bind_all(snapshot, run.id);
    snapshot.exec();
    implementation_->database.exec(
        "DELETE FROM profile_snapshots WHERE kept_for = 0 AND (device, family, problem) NOT IN "
        "(SELECT device, family, problem FROM profiles WHERE imported)");
  });
  implementation_->guarded([&] { implementation_->confirm(run); });
}

void ProfileStore::keep(const Profile& profile) {
  implementation_->in_transaction([&] { implementation_->replace(profile); });
}

bool ProfileStore::keep_if_better(const Profile& profile) {
  return implementation_->in_transaction([&] {
    const auto present = implementation_->find(profile.key);
    if (present && !present->imported && comparable(present->kernels, profile.kernels) &&
        present->time <= profile.time) {
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
          fmt::format(
              "INSERT OR REPLACE INTO profile_snapshots ({0}, kept_for) SELECT {0}, 0 FROM profiles WHERE device = "
              "(SELECT id FROM devices WHERE identity = ?) AND family = ? AND problem = ?",
              kStoredColumns));
      bind_all(row, profile.key.device.text(), profile.key.family, profile.key.problem.text());
      row.exec();
    }
    implementation_->replace(profile);
  });
}

std::optional<Profile> ProfileStore::displaced(const ProfileKey& key) const {
  return implementation_->guarded([&]() -> std::optional<Profile> {
    auto found = implementation_->profiles_in("profile_snapshots", fmt::format("WHERE r.kept_for = 0 AND {}", kOfKey),
                                              key.device.text(), key.family, key.problem.text());
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
  });
}

std::vector<Profile> ProfileStore::displaced() const {
  auto found = implementation_->guarded(
      [&] { return implementation_->profiles_in("profile_snapshots", "WHERE r.kept_for = 0"); });
  std::ranges::sort(found, {}, &Profile::key);
  return found;
}

void ProfileStore::forget_displaced(const ProfileKey& key) {
  implementation_->in_transaction([&] { implementation_->remove_from("profile_snapshots", "AND kept_for = 0", key); });
}

bool ProfileStore::restore_displaced(const ProfileKey& key) {
  return implementation_->in_transaction([&] {
    const auto local = displaced(key);
    if (!local) return false;
    implementation_->replace(*local);
    implementation_->remove_from("profile_snapshots", "AND kept_for = 0", key);
    return true;
  });
}

void ProfileStore::atomically(const std::function<void()>& work) { implementation_->in_transaction(work); }

ProfileStore::Pruned ProfileStore::prune(const Outdated& outdated) {
  return implementation_->in_transaction([&] {
    SQLite::Database& database = implementation_->database;
    const auto delete_from = [&](const char* table) {
      SQLite::Statement version(database, fmt::format("SELECT DISTINCT r.family, r.device, d.identity, r.source_hash, "
                                                      "r.contract_digest FROM {} r JOIN devices d ON d.id = r.device",
                                                      table));
      SQLite::Statement row(database, fmt::format("DELETE FROM {} WHERE family = ? AND device = ? AND source_hash = ? "
                                                  "AND contract_digest = ?",
                                                  table));
      struct Key {
        std::string family;
        std::int64_t device = 0;
        KernelVersion kernels;
      };
      std::vector<Key> keys;  // rows are not deleted while they are being read
      while (version.executeStep()) {
        Key key{.family = version.getColumn(0).getString(),
                .device = version.getColumn(1).getInt64(),
                .kernels = {.source_hash = version.getColumn(3).getString(),
                            .contract_digest = version.getColumn(4).getString()}};
        const DeviceIdentity device = DeviceIdentity::parse(version.getColumn(2).getString());
        if (outdated(key.family, device, key.kernels)) keys.push_back(std::move(key));
      }
      std::int64_t deleted = 0;
      for (const Key& key : keys) {
        bind_all(row, key.family, key.device, key.kernels.source_hash, key.kernels.contract_digest);
        deleted += row.exec();
        row.reset();
      }
      return deleted;
    };
    const Pruned pruned{.measurements = delete_from("measurements"), .profiles = delete_from("profiles")};
    for (const auto& [table, column] : {std::pair("devices", "device"), std::pair("provenances", "provenance")}) {
      database.exec(
          fmt::format("DELETE FROM {0} WHERE id NOT IN (SELECT {1} FROM measurements UNION SELECT {1} FROM profiles "
                      "UNION SELECT {1} FROM profile_snapshots)",
                      table, column));
    }
    return pruned;
  });
}

}  // namespace heddle
