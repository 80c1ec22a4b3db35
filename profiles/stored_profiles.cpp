#include "heddle/profiles/stored_profiles.hpp"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace heddle {

namespace {

constexpr const char* kOfKeyUnjoined =
    "device = (SELECT id FROM devices WHERE identity = ?) AND family = ? AND problem = ? AND objective = ? AND "
    "cold_cache = ?";
/// For StoreFile::select().
constexpr const char* kOfProfile =
    "d.identity = ? AND r.family = ? AND r.problem = ? AND r.objective = ? AND r.cold_cache = ?";
/// Snapshots that belong to no tuning run.
constexpr const char* kOfNoRun = "kept_for = 0";

/// Runs a statement about the rows of `key`.
void execute(StoreFile& store, const std::string& sql, const ProfileKey& key) {
  SQLite::Statement row(store.database(), sql);
  bind_all(row, key.device.text(), key.family, key.problem.text(), key.goal.objective, key.goal.cold_cache ? 1 : 0);
  row.exec();
}

std::optional<Profile> first(std::vector<Profile> found) {
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

/// The row of `key` in `table`, if it satisfies the condition.
std::optional<Profile> row_of(StoreFile& store, const char* table, const ProfileKey& key,
                              const std::string& condition) {
  return first(store.select<Profile>(table, fmt::format("WHERE {} AND {}", kOfProfile, condition), key.device.text(),
                                     key.family, key.problem.text(), key.goal.objective, key.goal.cold_cache ? 1 : 0));
}

}  // namespace

std::optional<Profile> find_profile(StoreFile& store, const ProfileKey& key) {
  return row_of(store, "profiles", key, "TRUE");
}

std::vector<Profile> profiles_of(StoreFile& store, const std::string& family) {
  auto found = family.empty() ? store.select<Profile>("profiles", "")
                              : store.select<Profile>("profiles", "WHERE r.family = ?", family);
  std::ranges::sort(found, {}, &Profile::key);
  return found;
}

void remove_profile(StoreFile& store, const ProfileKey& key) {
  execute(store, fmt::format("DELETE FROM profiles WHERE {}", kOfKeyUnjoined), key);
}

bool replace_if_better(StoreFile& store, const Profile& profile) {
  const auto present = find_profile(store, profile.key);
  if (present && !present->imported && comparable(present->kernels, profile.kernels) && !is_better(profile, *present)) {
    return false;
  }
  store.replace(profile);
  return true;
}

void replace_for_now(StoreFile& store, const Profile& profile) {
  const auto present = find_profile(store, profile.key);
  if (present && !present->imported) {
    execute(
        store,
        fmt::format("INSERT OR REPLACE INTO profile_snapshots ({0}, kept_for) SELECT {0}, 0 FROM profiles WHERE {1}",
                    kProfileColumns, kOfKeyUnjoined),
        profile.key);
  }
  store.replace(profile);
}

std::optional<Profile> displaced_profile(StoreFile& store, const ProfileKey& key) {
  return row_of(store, "profile_snapshots", key, fmt::format("r.{}", kOfNoRun));
}

std::vector<Profile> displaced_profiles(StoreFile& store) {
  auto found = store.select<Profile>("profile_snapshots", fmt::format("WHERE r.{}", kOfNoRun));
  std::ranges::sort(found, {}, &Profile::key);
  return found;
}

void forget_displaced_profile(StoreFile& store, const ProfileKey& key) {
  execute(store, fmt::format("DELETE FROM profile_snapshots WHERE {} AND {}", kOfKeyUnjoined, kOfNoRun), key);
}

bool restore_displaced_profile(StoreFile& store, const ProfileKey& key) {
  const auto local = displaced_profile(store, key);
  if (!local) return false;
  store.replace(*local);
  forget_displaced_profile(store, key);
  return true;
}

}  // namespace heddle
