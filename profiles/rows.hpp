// Measurements and profiles as rows of the database; nothing in a row is believed unseen. For the files of this folder
// only.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/family_registry.hpp"
#include "heddle/profiles/fitted_model.hpp"
#include "heddle/profiles/measurement.hpp"

namespace heddle {

/// All columns that the tables profiles and profile_snapshots have in common.
inline constexpr const char* kProfileColumns =
    "device, family, problem, source_hash, configuration, time, spread, worst_error, samples, ties, imported, "
    "provenance, date, run, record, contract_digest, objective, cold_cache, value";
/// All columns that the tables models and model_snapshots have in common.
inline constexpr const char* kModelColumns =
    "device, family, source_hash, contract_digest, weights, left_out_error, measurements, problems, remark, imported, "
    "provenance, date";
/// For select(): the rows of a key, by the texts of its device, family and problem.
inline constexpr const char* kOfKey = "d.identity = ? AND r.family = ? AND r.problem = ?";

/// Binds its arguments in order to the placeholders of a statement.
template <class... Arguments>
void bind_all(SQLite::Statement& statement, const Arguments&... arguments) {
  int index = 0;
  (statement.bind(++index, arguments), ...);
}

/// All throw Error(bug) for numbers that would be refused when they are read.
void insert(SQLite::Database& database, const Measurement& measurement);
void replace(SQLite::Database& database, const Profile& profile);
void replace(SQLite::Database& database, const FittedModel& model);

/// The beginning of a SELECT for read() from `table`, which is called r; d are devices.
template <class Record>
[[nodiscard]] std::string select_from(const char* table);
/// The present row. Nothing if its problem does not have the sizes that its family has in `families`: another version
/// may have written it. A row of a family that is not in `families` may have any sizes. Throws Error(input) for what no
/// heddle writes.
template <class Record>
[[nodiscard]] std::optional<Record> read(SQLite::Statement& row, const FamilyRegistry& families);

template <>
std::string select_from<Measurement>(const char* table);
template <>
std::string select_from<Profile>(const char* table);
template <>
std::string select_from<FittedModel>(const char* table);
template <>
std::optional<Measurement> read<Measurement>(SQLite::Statement& row, const FamilyRegistry& families);
template <>
std::optional<Profile> read<Profile>(SQLite::Statement& row, const FamilyRegistry& families);
/// A model has no problem: it is always there.
template <>
std::optional<FittedModel> read<FittedModel>(SQLite::Statement& row, const FamilyRegistry& families);

/// The rows of `table` that satisfy `condition`, whose placeholders are bound to `arguments`.
template <class Record, class... Arguments>
[[nodiscard]] std::vector<Record> select(SQLite::Database& database, const FamilyRegistry& families, const char* table,
                                         const std::string& condition, const Arguments&... arguments) {
  SQLite::Statement row(database, fmt::format("{} {}", select_from<Record>(table), condition));
  bind_all(row, arguments...);
  std::vector<Record> found;
  while (row.executeStep()) {
    if (auto record = read<Record>(row, families)) found.push_back(std::move(*record));
  }
  return found;
}

/// Why rows with this family and problem are left out; nothing if they are not, or if no heddle wrote them.
[[nodiscard]] std::optional<std::string> why_left_out(const FamilyRegistry& families, const std::string& family,
                                                      const std::string& problem);

}  // namespace heddle
