// A file whose bytes are looked at where the system keeps them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace heddle {

/// Must not be truncated while it is mapped.
class MappedFile {
 public:
  /// Null if there is no such file, or it cannot be mapped.
  [[nodiscard]] static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace heddle
