#include "heddle/profiles/migrations.hpp"

#include <SQLiteCpp/Database.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <cstddef>
#include <iterator>
#include <new>
#include <string>
#include <string_view>

#include "heddle/profiles/goal.hpp"

namespace heddle {

namespace {

// Number i leads from schema i to i + 1. Never edited once released: a change is a new one at the end.
constexpr const char* kMigrations[] = {
    // Devices and provenances repeat in every row of a tuning run, so each is kept once. `identity` holds every field
    // of a device; the columns beside it are for people and queries. `times` is a JSON array (microseconds per sample),
    // so that SQLite's own functions can look into it; numbers are written with the digits that bring back the same
    // double.
    R"sql(
CREATE TABLE devices (
  id           INTEGER PRIMARY KEY,
  identity     TEXT NOT NULL UNIQUE,
  backend      TEXT NOT NULL,
  name         TEXT NOT NULL,
  architecture TEXT NOT NULL
) STRICT;

CREATE TABLE provenances (
  id       INTEGER PRIMARY KEY,
  driver   TEXT NOT NULL,
  compiler TEXT NOT NULL,
  tool     TEXT NOT NULL,
  host     TEXT NOT NULL,
  clocks   TEXT NOT NULL,
  seed     INTEGER NOT NULL,
  strategy TEXT NOT NULL,
  UNIQUE (driver, compiler, tool, host, clocks, seed, strategy)
) STRICT;

CREATE TABLE measurements (
  id              INTEGER PRIMARY KEY,
  device          INTEGER NOT NULL REFERENCES devices,
  family          TEXT NOT NULL,
  problem         TEXT NOT NULL,
  source_hash     TEXT NOT NULL,
  configuration   TEXT NOT NULL,
  status          TEXT NOT NULL,
  times           TEXT NOT NULL,
  samples         INTEGER NOT NULL,
  cold_cache      INTEGER NOT NULL,
  compile_seconds REAL NOT NULL,
  worst_error     REAL NOT NULL,
  message         TEXT NOT NULL,
  provenance      INTEGER NOT NULL REFERENCES provenances,
  date            TEXT NOT NULL
) STRICT;
CREATE INDEX measurements_by_key ON measurements (device, family, problem);
CREATE INDEX measurements_by_provenance ON measurements (provenance);

CREATE TABLE profiles (
  device        INTEGER NOT NULL REFERENCES devices,
  family        TEXT NOT NULL,
  problem       TEXT NOT NULL,
  source_hash   TEXT NOT NULL,
  configuration TEXT NOT NULL,
  time          REAL NOT NULL,
  spread        REAL NOT NULL,
  worst_error   REAL NOT NULL,
  samples       INTEGER NOT NULL,
  ties          TEXT NOT NULL,  -- configurations, one per line
  imported      INTEGER NOT NULL,
  provenance    INTEGER NOT NULL REFERENCES provenances,
  date          TEXT NOT NULL,
  PRIMARY KEY (device, family, problem)
) STRICT, WITHOUT ROWID;
CREATE INDEX profiles_by_provenance ON profiles (provenance);
)sql",

    // A run that was killed is found again by its task. It goes on from its own measurements and from a snapshot of the
    // profiles at its beginning (table aside; kept_for is the run). `horizon` is the id of the last measurement of
    // other runs that it may use. Profiles that an import displaced are kept in the same table, for run 0.
    R"sql(
CREATE TABLE runs (
  id      INTEGER PRIMARY KEY,
  task    TEXT NOT NULL,
  owner   TEXT NOT NULL,  -- the process at work, empty: none
  horizon INTEGER NOT NULL,
  seconds REAL NOT NULL,
  ended   INTEGER NOT NULL
) STRICT;
CREATE INDEX runs_by_task ON runs (task);

ALTER TABLE measurements ADD COLUMN run INTEGER NOT NULL DEFAULT 0;
ALTER TABLE measurements ADD COLUMN visit INTEGER NOT NULL DEFAULT 0;
ALTER TABLE measurements ADD COLUMN cost REAL;
ALTER TABLE profiles ADD COLUMN run INTEGER NOT NULL DEFAULT 0;

CREATE TABLE aside (
  kept_for      INTEGER NOT NULL,  -- the run that began with it; 0: displaced by an import
  device        INTEGER NOT NULL REFERENCES devices,
  family        TEXT NOT NULL,
  problem       TEXT NOT NULL,
  source_hash   TEXT NOT NULL,
  configuration TEXT NOT NULL,
  time          REAL NOT NULL,
  spread        REAL NOT NULL,
  worst_error   REAL NOT NULL,
  samples       INTEGER NOT NULL,
  ties          TEXT NOT NULL,
  imported      INTEGER NOT NULL,
  provenance    INTEGER NOT NULL REFERENCES provenances,
  date          TEXT NOT NULL,
  run           INTEGER NOT NULL,  -- as in profiles
  PRIMARY KEY (kept_for, device, family, problem)
) STRICT, WITHOUT ROWID;
CREATE INDEX aside_by_provenance ON aside (provenance);
)sql",

    // The table of profile snapshots gets the name of its contents.
    R"sql(
ALTER TABLE aside RENAME TO profile_snapshots;
DROP INDEX aside_by_provenance;
CREATE INDEX profile_snapshots_by_provenance ON profile_snapshots (provenance);
)sql",

    // A profile of a family that is unknown where it is imported keeps the exchange record that it came as.
    R"sql(
ALTER TABLE profiles ADD COLUMN record TEXT NOT NULL DEFAULT '';
ALTER TABLE profile_snapshots ADD COLUMN record TEXT NOT NULL DEFAULT '';
)sql",

    // Beside the digest of the templates, one of the terms on which the host uses them; empty: not known.
    R"sql(
ALTER TABLE measurements ADD COLUMN contract_digest TEXT NOT NULL DEFAULT '';
ALTER TABLE profiles ADD COLUMN contract_digest TEXT NOT NULL DEFAULT '';
ALTER TABLE profile_snapshots ADD COLUMN contract_digest TEXT NOT NULL DEFAULT '';
)sql",

    // What the parts of a unit of work cost on a device, fitted to its measurements: one row for a device and a family,
    // and those that there were when a run began, so that a run that was killed goes on with the same ones.
    R"sql(
CREATE TABLE models (
  device          INTEGER NOT NULL REFERENCES devices,
  family          TEXT NOT NULL,
  source_hash     TEXT NOT NULL,
  contract_digest TEXT NOT NULL,
  weights         TEXT NOT NULL,  -- a JSON object: microseconds by term
  left_out_error  REAL NOT NULL,
  measurements    INTEGER NOT NULL,
  problems        INTEGER NOT NULL,
  remark          TEXT NOT NULL,
  imported        INTEGER NOT NULL,
  provenance      INTEGER NOT NULL REFERENCES provenances,
  date            TEXT NOT NULL,
  PRIMARY KEY (device, family)
) STRICT, WITHOUT ROWID;
CREATE INDEX models_by_provenance ON models (provenance);

CREATE TABLE model_snapshots (
  kept_for        INTEGER NOT NULL,  -- the run that began with it
  device          INTEGER NOT NULL REFERENCES devices,
  family          TEXT NOT NULL,
  source_hash     TEXT NOT NULL,
  contract_digest TEXT NOT NULL,
  weights         TEXT NOT NULL,
  left_out_error  REAL NOT NULL,
  measurements    INTEGER NOT NULL,
  problems        INTEGER NOT NULL,
  remark          TEXT NOT NULL,
  imported        INTEGER NOT NULL,
  provenance      INTEGER NOT NULL REFERENCES provenances,
  date            TEXT NOT NULL,
  PRIMARY KEY (kept_for, device, family)
) STRICT, WITHOUT ROWID;
CREATE INDEX model_snapshots_by_provenance ON model_snapshots (provenance);
)sql",

    // What the compiled configuration takes of a multiprocessor, and the energy of a unit of work; NULL: not known.
    R"sql(
ALTER TABLE measurements ADD COLUMN registers INTEGER;     -- of a thread
ALTER TABLE measurements ADD COLUMN shared_bytes INTEGER;  -- of a block
ALTER TABLE measurements ADD COLUMN local_bytes INTEGER;   -- of a thread
ALTER TABLE measurements ADD COLUMN occupancy REAL;        -- 0 to 1
ALTER TABLE measurements ADD COLUMN energy REAL;           -- joules per sample
)sql",

    // What was made small and how was timed identifies a profile, too. Until now the winner of such a search took the
    // place of the usual profile; the task of the run that made it says what it was for. The objective stands there
    // behind everything else, before " cold". The times of another goal's profile cannot be brought back.
    R"sql(
CREATE TEMP TABLE goals AS
  WITH tasks AS (SELECT id, substr(task, 1, instr(task || char(10), char(10)) - 1) AS line FROM runs),
       told AS (SELECT id, line, id IN (SELECT run FROM measurements WHERE cold_cache) AS cold,
                       instr(line, ' objective ') AS place FROM tasks),
       words AS (SELECT id, cold, CASE WHEN place = 0 THEN ' '
                                       WHEN cold AND line LIKE '% cold'
                                       THEN substr(line, place + 11, length(line) - place - 15)
                                       ELSE substr(line, place + 11) END AS objective FROM told),
       -- One blank between words, as Goal::of() has it: every blank becomes the marks 1 and 2, and 2 before 1 goes.
       plain AS (SELECT id, cold, replace(replace(replace(replace(objective, char(9), ' '), char(11), ' '), char(12), ' '),
                                          char(13), ' ') AS objective FROM words),
       single AS (SELECT id, cold, trim(replace(replace(replace(objective, ' ', char(1, 2)), char(2, 1), ''),
                                                char(1, 2), ' ')) AS objective FROM plain)
  SELECT id, cold, CASE WHEN objective = '' THEN 'time' ELSE objective END AS objective FROM single;

ALTER TABLE profiles RENAME TO old_profiles;
ALTER TABLE profile_snapshots RENAME TO old_snapshots;
DROP INDEX profiles_by_provenance;
DROP INDEX profile_snapshots_by_provenance;

CREATE TABLE profiles (
  device          INTEGER NOT NULL REFERENCES devices,
  family          TEXT NOT NULL,
  problem         TEXT NOT NULL,
  -- What was made small: time, energy, or an expression. Whoever opened the database before it had this column, and
  -- still writes, means the time.
  objective       TEXT NOT NULL DEFAULT 'time',
  cold_cache      INTEGER NOT NULL DEFAULT 0,  -- timed one launch at a time, with a cache that was emptied before each
  source_hash     TEXT NOT NULL,
  contract_digest TEXT NOT NULL,
  configuration   TEXT NOT NULL,
  time            REAL NOT NULL,
  spread          REAL NOT NULL,
  value           REAL,              -- of the objective; NULL: that is the time, or it is not known
  worst_error     REAL NOT NULL,
  samples         INTEGER NOT NULL,
  ties            TEXT NOT NULL,     -- configurations, one per line
  imported        INTEGER NOT NULL,
  provenance      INTEGER NOT NULL REFERENCES provenances,
  date            TEXT NOT NULL,
  run             INTEGER NOT NULL,
  record          TEXT NOT NULL,
  PRIMARY KEY (device, family, problem, objective, cold_cache)
) STRICT, WITHOUT ROWID;
CREATE INDEX profiles_by_provenance ON profiles (provenance);

CREATE TABLE profile_snapshots (
  kept_for        INTEGER NOT NULL,  -- the run that began with it; 0: displaced by an import
  device          INTEGER NOT NULL REFERENCES devices,
  family          TEXT NOT NULL,
  problem         TEXT NOT NULL,
  objective       TEXT NOT NULL DEFAULT 'time',
  cold_cache      INTEGER NOT NULL DEFAULT 0,
  source_hash     TEXT NOT NULL,
  contract_digest TEXT NOT NULL,
  configuration   TEXT NOT NULL,
  time            REAL NOT NULL,
  spread          REAL NOT NULL,
  value           REAL,
  worst_error     REAL NOT NULL,
  samples         INTEGER NOT NULL,
  ties            TEXT NOT NULL,
  imported        INTEGER NOT NULL,
  provenance      INTEGER NOT NULL REFERENCES provenances,
  date            TEXT NOT NULL,
  run             INTEGER NOT NULL,
  record          TEXT NOT NULL,
  PRIMARY KEY (kept_for, device, family, problem, objective, cold_cache)
) STRICT, WITHOUT ROWID;
CREATE INDEX profile_snapshots_by_provenance ON profile_snapshots (provenance);

INSERT INTO profiles
  SELECT p.device, p.family, p.problem, coalesce(g.objective, 'time'), coalesce(g.cold, 0), p.source_hash,
         p.contract_digest, p.configuration, p.time, p.spread, NULL, p.worst_error, p.samples, p.ties, p.imported,
         p.provenance, p.date, p.run, p.record FROM old_profiles p LEFT JOIN goals g ON g.id = p.run;
INSERT INTO profile_snapshots
  SELECT p.kept_for, p.device, p.family, p.problem, coalesce(g.objective, 'time'), coalesce(g.cold, 0), p.source_hash,
         p.contract_digest, p.configuration, p.time, p.spread, NULL, p.worst_error, p.samples, p.ties, p.imported,
         p.provenance, p.date, p.run, p.record FROM old_snapshots p LEFT JOIN goals g ON g.id = p.run;
DROP TABLE old_profiles;
DROP TABLE old_snapshots;
DROP TABLE goals;
)sql",

    // The tables stay as they are. From here on objectives have their normal form. That is no step of its own, because
    // programs of the eighth schema that have the file open go on writing: normalize_objectives() runs whenever a file
    // is opened that holds another form.
    "",
};

// Two texts of one objective were two goals until schema 9, so that their profiles may lie side by side. They are read
// into a table without a key, get the same objective there, and are written back in such an order that the one to be
// kept comes last and replaces the others. {0}: the table.
constexpr const char* kReadRows = R"sql(
CREATE TEMP TABLE read_{0} AS SELECT * FROM {0};
-- The value of an objective like '(time)' was stored. It is the time, of which no value is stored beside it.
UPDATE read_{0} SET value = NULL WHERE objective <> 'time' AND normal_objective(objective) = 'time';
UPDATE read_{0} SET objective = normal_objective(objective);
DELETE FROM {0};
)sql";

// Values of different kernels are not compared: the kernels of the newest profile are most likely the present ones, so
// theirs come last. Of the same kernels the smallest value does; a profile whose value is not known (NULL, though the
// objective is not the time) counts as worse than any that is known, and of two equal ones the local one is kept.
// {0}: the table, {1}: its key.
constexpr const char* kWriteRows = R"sql(
INSERT OR REPLACE INTO {0} SELECT * FROM read_{0}
  ORDER BY max(date) OVER (PARTITION BY {1}, source_hash, contract_digest), source_hash, contract_digest,
           objective <> 'time' AND value IS NULL DESC, coalesce(value, time) DESC, imported DESC, time DESC;
)sql";

// As an import does: the local profile that an imported one displaces is kept until that has been measured here.
// Between it and one that was displaced before, the rows above decide. {0}: the key of profiles.
constexpr const char* kKeepDisplaced = R"sql(
INSERT INTO read_profile_snapshots
  SELECT 0, * FROM read_profiles WHERE NOT imported AND ({0}) IN (SELECT {0} FROM profiles WHERE imported);
)sql";

/// The function normal_objective() of SQL: Goal::of(). A text that no heddle wrote stays, to be refused where it is
/// read.
void normal_objective(sqlite3_context* context, int, sqlite3_value** arguments) {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_value_text(arguments[0]));
  if (text == nullptr) return sqlite3_result_error_nomem(context);
  try {
    const std::string_view stored(text, static_cast<std::size_t>(sqlite3_value_bytes(arguments[0])));
    if (stored != on_one_line(stored)) return sqlite3_result_value(context, arguments[0]);
    const std::string normal = Goal::of(stored).objective;
    sqlite3_result_text(context, normal.data(), static_cast<int>(normal.size()), SQLITE_TRANSIENT);
  } catch (const std::bad_alloc&) {  // must not leave through SQLite
    sqlite3_result_error_nomem(context);
  }
}

void add_functions(SQLite::Database& database) {
  database.createFunction("normal_objective", 1, true, nullptr, &normal_objective, nullptr, nullptr, nullptr);
}

/// Of a database with the present schema.
bool has_other_objectives(SQLite::Database& database) {
  constexpr const char* kOther = "(SELECT 1 FROM {} WHERE objective <> normal_objective(objective))";
  return database
             .execAndGet(fmt::format("SELECT EXISTS {} OR EXISTS {}", fmt::format(kOther, "profiles"),
                                     fmt::format(kOther, "profile_snapshots")))
             .getInt() != 0;
}

void normalize_objectives(SQLite::Database& database) {
  const std::string key = "device, family, problem, objective, cold_cache";
  database.exec(fmt::format(kReadRows, "profiles"));
  database.exec(fmt::format(kReadRows, "profile_snapshots"));
  database.exec(fmt::format(kWriteRows, "profiles", key));
  database.exec(fmt::format(kKeepDisplaced, key));
  database.exec(fmt::format(kWriteRows, "profile_snapshots", "kept_for, " + key));
  database.exec("DROP TABLE read_profiles; DROP TABLE read_profile_snapshots");
}

}  // namespace

int present_schema() { return static_cast<int>(std::size(kMigrations)); }

bool needs_migration(SQLite::Database& database, int version) {
  if (version < present_schema()) return true;
  add_functions(database);
  return has_other_objectives(database);
}

void migrate(SQLite::Database& database, int version) {
  add_functions(database);
  for (; version < present_schema(); ++version) database.exec(kMigrations[version]);
  if (has_other_objectives(database)) normalize_objectives(database);
  database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  database.exec(fmt::format("PRAGMA user_version = {}", version));
}

}  // namespace heddle
