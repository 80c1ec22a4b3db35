// Compiled code on disk, found again by what it was compiled from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The output of a compiler: a cubin, a shared object. Immutable; shared by all entries that name it.
struct CompiledBlob {
  std::string digest;  ///< of `bytes`, see digest()
  std::string bytes;
};

/// One folder of compiled code. Entries are small files named after a key; each names a blob, which a whole batch of
/// configurations may share, and says what its owner needs to know about the blob. Several processes may share the
/// folder: files are written whole and renamed into place. Damaged entries are removed when they are found.
/// Thread-safe.
class CompileCache {
 public:
  struct Entry {
    std::shared_ptr<const CompiledBlob> blob;
    std::filesystem::path file;  ///< holds blob->bytes, for those who load from files
    std::string metadata;        ///< as it was stored
  };
  /// The files that store() writes beside the blob for one configuration.
  struct Record {
    std::string key;  ///< hex digits: digest() over all that decides what the compiler makes
    std::string metadata;
  };

  /// Creates `folder` and its parents with mode 0700 if missing. Throws Error(device) if the folder belongs to another
  /// user or others may write to it. A folder that cannot be made or used is not an error: see remark().
  explicit CompileCache(std::filesystem::path folder, std::uintmax_t maximum_bytes = std::uintmax_t{2} << 30);
  CompileCache(const CompileCache&) = delete;
  CompileCache& operator=(const CompileCache&) = delete;

  /// $XDG_CACHE_HOME/heddle/<backend>, or ~/.cache/heddle/<backend>; empty if neither variable is set.
  [[nodiscard]] static std::filesystem::path default_folder(std::string_view backend);

  /// The entry of `key`, its blob read and compared with its digest.
  [[nodiscard]] std::optional<Entry> find(const std::string& key);
  /// Keeps `bytes` once and an entry per record. Returns the blob, with an empty `Entry::file` if the disk refused it.
  Entry store(std::string bytes, const std::vector<Record>& records);

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }
  /// One line that says why compiled code is not kept; empty while it is.
  [[nodiscard]] std::string remark() const;

 private:
  [[nodiscard]] std::filesystem::path blob_file(const std::string& digest) const;
  [[nodiscard]] std::filesystem::path entry_file(const std::string& key) const;
  std::shared_ptr<const CompiledBlob> read_blob(const std::string& digest);
  bool write(const std::filesystem::path& file, std::string_view bytes);
  void unusable(const std::string& why);
  void prune();

  std::filesystem::path folder_;
  std::uintmax_t maximum_bytes_;
  mutable std::mutex mutex_;  ///< of all below
  std::string remark_;
  bool pruned_ = false;
  std::map<std::string, std::weak_ptr<const CompiledBlob>> verified_;
};

}  // namespace heddle
