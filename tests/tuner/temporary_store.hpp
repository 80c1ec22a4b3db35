// A profile store in a folder of its own that goes with it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "heddle/profiles/profile_store.hpp"

namespace heddle {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "heddle-tuner-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class TemporaryStore {
 public:
  std::filesystem::path file() const { return folder_.path() / "profiles.sqlite"; }

 private:
  TemporaryFolder folder_;

 public:
  mutable ProfileStore store{file(), ProfileStore::Access::read_write};
};

}  // namespace heddle
