// Profiles as a JSON document, to carry them between machines.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "heddle/profiles/profile_store.hpp"

namespace heddle {

/// Writes the profiles (of one family if named) as a JSON document with a schema version and a checksum per record;
/// written whole and renamed into place. Profiles that this heddle would not take back (of a family it does not have,
/// or stale with a configuration that has left the space) stay out. Throws Error(input) if the file cannot be written.
/// Returns how many.
std::size_t export_profiles(const ProfileStore& store, const std::filesystem::path& file,
                            const std::string& family = {});

struct ImportDecision {
  enum class Action { added, replaced, kept_local, same };
  Profile profile;
  Action action;
  std::string reason;  ///< "the local profile is faster: 2.10 against 2.32 us"
};
/// All or nothing. Trusts nothing in the file: each record's family, sizes, numbers and configuration are checked
/// against the family's own space for the device it names. Keeps local profiles that are at least as fast; what it
/// brings is marked as imported. Throws Error(input) that names the file and record, what was found and expected.
std::vector<ImportDecision> import_profiles(ProfileStore& store, const std::filesystem::path& file);

}  // namespace heddle
