// The schema of the profile database and how older ones become the present one.
#pragma once

namespace SQLite {
class Database;
}

namespace heddle {

/// "hedd": marks a SQLite file as ours.
inline constexpr int kApplicationId = 0x68656464;

/// The schema this heddle reads and writes; kept in the file as PRAGMA user_version.
[[nodiscard]] int present_schema();

/// Whether `database` of schema `version` is not as this heddle leaves it: it has an earlier schema, or a program of
/// one that had opened it before it was migrated has written to it since.
[[nodiscard]] bool needs_migration(SQLite::Database& database, int version);

/// Brings `database` from schema `version` (0: an empty file) to the present one, and what programs of
/// earlier schemas wrote since to its form. Needs an open transaction.
void migrate(SQLite::Database& database, int version);

}  // namespace heddle
