#include "heddle/profiles/stored_runs.hpp"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "heddle/profiles/owner.hpp"

namespace heddle {

namespace {

template <class... Arguments>
void execute_with(StoreFile& store, const std::string& sql, const Arguments&... arguments) {
  SQLite::Statement row(store.database(), sql);
  bind_all(row, arguments...);
  row.exec();
}

/// The newest unfinished run of `task` that no process is working on.
std::optional<TuningRun> abandoned_run(StoreFile& store, const std::string& task) {
  SQLite::Statement unfinished(store.database(),
                               "SELECT id, owner, seconds FROM runs WHERE task = ? AND NOT ended ORDER BY id DESC");
  bind_all(unfinished, task);
  while (unfinished.executeStep()) {
    if (may_be_running(unfinished.getColumn("owner").getString())) continue;
    return TuningRun{.id = unfinished.getColumn("id").getInt64(),
                     .resumed = true,
                     .seconds = unfinished.getColumn("seconds").getDouble()};
  }
  return std::nullopt;
}

TuningRun new_run(StoreFile& store, const std::string& task) {
  SQLite::Statement row(store.database(),
                        "INSERT INTO runs (task, owner, horizon, seconds, ended) VALUES "
                        "(?, ?, (SELECT coalesce(max(id), 0) FROM measurements), 0, 0) RETURNING id");
  bind_all(row, task, this_process());
  row.executeStep();
  return {.id = row.getColumn(0).getInt64()};
}

}  // namespace

TuningRun resume_or_begin_run(StoreFile& store, const std::string& task) {
  if (const auto abandoned = abandoned_run(store, task)) {
    execute_with(store, "UPDATE runs SET owner = ? WHERE id = ?", this_process(), abandoned->id);
    return *abandoned;
  }
  const TuningRun run = new_run(store, task);
  execute_with(
      store, fmt::format("INSERT INTO profile_snapshots ({0}, kept_for) SELECT {0}, ? FROM profiles", kProfileColumns),
      run.id);
  execute_with(store,
               fmt::format("INSERT INTO model_snapshots ({0}, kept_for) SELECT {0}, ? FROM models", kModelColumns),
               run.id);
  return run;
}

std::vector<Profile> profiles_before_run(StoreFile& store, const TuningRun& run) {
  auto found = store.select<Profile>("profile_snapshots", "WHERE r.kept_for = ?", run.id);
  std::ranges::sort(found, {}, &Profile::key);
  return found;
}

void store_seconds(StoreFile& store, const TuningRun& run, double seconds) {
  execute_with(store, "UPDATE runs SET seconds = ? WHERE id = ?", seconds, run.id);
}

void leave_run(StoreFile& store, const TuningRun& run, bool finished) {
  execute_with(store, "UPDATE runs SET owner = '', ended = ? WHERE id = ?", finished ? 1 : 0, run.id);
  if (!finished) return;
  execute_with(store, "DELETE FROM profile_snapshots WHERE kept_for = ?", run.id);
  execute_with(store, "DELETE FROM model_snapshots WHERE kept_for = ?", run.id);
  store.database().exec(
      "DELETE FROM profile_snapshots WHERE kept_for = 0 AND (device, family, problem, objective, cold_cache) NOT IN "
      "(SELECT device, family, problem, objective, cold_cache FROM profiles WHERE imported)");
}

}  // namespace heddle
