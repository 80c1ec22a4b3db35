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

/// Brings `database` from schema `version` (0: an empty file) to the present one. Needs an open transaction.
void migrate(SQLite::Database& database, int version);

}  // namespace heddle
