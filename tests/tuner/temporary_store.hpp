// A profile store in a folder of its own that goes with it.
#pragma once

#include <filesystem>

#include "heddle/profiles/profile_store.hpp"
#include "temporary_folder.hpp"

namespace heddle {

class TemporaryStore {
 public:
  std::filesystem::path file() const { return folder_.path() / "profiles.sqlite"; }

 private:
  TemporaryFolder folder_;

 public:
  mutable ProfileStore store{file(), ProfileStore::Access::read_write};
};

}  // namespace heddle
