// A folder for temporary files.
#pragma once

#include <filesystem>

namespace heddle {

/// A new folder for this user alone, removed with all that is in it. One that stays behind because its process
/// was killed is removed by the next process that makes one: the owner holds a lock on a file inside.
class ScratchFolder {
 public:
  ScratchFolder();  ///< throws Error(device)
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

/// Removes this user's scratch folders whose owner is gone.
void remove_abandoned_folders() noexcept;

}  // namespace heddle
