// Profiles as a JSON document, to carry them between machines.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "heddle/profiles/profile_store.hpp"

namespace heddle {

struct Exported {
  std::size_t count = 0;   ///< profiles
  std::size_t models = 0;  ///< of times
  struct LeftOut {
    Profile profile;
    std::string reason;
  };
  std::vector<LeftOut> left_out;
};
/// Writes the profiles and models (of one family if named) as a JSON document with a schema version and a checksum per
/// record; written whole and renamed into place. Profiles that this heddle would not take back (stale with a
/// configuration that has left the space) are left out. Those of families that are unknown here are carried on as they
/// are. Throws Error(input) if the file cannot be written.
Exported export_profiles(const ProfileStore& store, const std::filesystem::path& file, const std::string& family = {});

struct ImportDecision {
  enum class Action { added, replaced, kept_local, same, refused };
  Profile profile;
  Action action;
  std::string reason;  ///< "the local profile is faster: 2.10 against 2.32 us"
};
struct ModelDecision {
  FittedModel model;
  ImportDecision::Action action;
  std::string reason;
};
struct Imported {
  std::vector<ImportDecision> profiles;
  std::vector<ModelDecision> models;  ///< none in a file that an earlier version wrote
};
/// All or nothing, except that a record is refused alone if its problem has other sizes than its family has in this
/// heddle. Two records of one objective in different words, which an earlier heddle wrote, are decided upon as if the
/// second came in another file; the same record twice is an error. Trusts nothing in the file: each record's sizes,
/// numbers and configuration are checked against the family's own space for the device it names. A record of a family
/// that `store` does not know is checked in its form alone and kept for programs that know the family. Keeps local
/// profiles that are at least as fast. Imported profiles are marked. If one displaces a local profile, a snapshot of
/// that is kept until both have been measured on this machine (ProfileStore::keep_for_now). Between two models of a
/// device and family the one that was fitted to more measurements stays; one of the present kernels is better than any
/// other. Throws Error(input) that names the file and record, what was found and expected.
Imported import_profiles(ProfileStore& store, const std::filesystem::path& file);
/// The same of a document in memory; `name` is what errors call it.
Imported import_document(ProfileStore& store, const std::string& bytes, const std::string& name);

}  // namespace heddle
