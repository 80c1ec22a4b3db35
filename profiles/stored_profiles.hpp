// Which profile of a key is kept, and what happens to the one that it replaces. For the files of this folder only;
// inside StoreFile::guarded() or, what writes, StoreFile::in_transaction(). ProfileStore says what each function does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heddle/profiles/measurement.hpp"
#include "heddle/profiles/store_file.hpp"

namespace heddle {

[[nodiscard]] std::optional<Profile> find_profile(StoreFile& store, const ProfileKey& key);
/// In key order.
[[nodiscard]] std::vector<Profile> profiles_of(StoreFile& store, const std::string& family);
void remove_profile(StoreFile& store, const ProfileKey& key);

bool replace_if_better(StoreFile& store, const Profile& profile);

/// Keeps a snapshot of the local profile that it replaces.
void replace_for_now(StoreFile& store, const Profile& profile);
[[nodiscard]] std::optional<Profile> displaced_profile(StoreFile& store, const ProfileKey& key);
/// In key order.
[[nodiscard]] std::vector<Profile> displaced_profiles(StoreFile& store);
void forget_displaced_profile(StoreFile& store, const ProfileKey& key);
bool restore_displaced_profile(StoreFile& store, const ProfileKey& key);

}  // namespace heddle
