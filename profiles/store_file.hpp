// The open file of a profile store: reads and writes its records, in transactions, and rescues what was written if the
// file is lost. For the files of this folder only.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Transaction.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/profiles/database.hpp"
#include "heddle/profiles/file_watch.hpp"
#include "heddle/profiles/measurement.hpp"
#include "heddle/profiles/rows.hpp"

namespace heddle {

class StoreFile {
 public:
  enum class Mode { read, write };
  /// `families`: those that the program knows. Throws Error(profiles).
  StoreFile(std::filesystem::path file, Mode mode, FamilyRegistry families, Patience patience);

  [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }
  [[nodiscard]] const FamilyRegistry& families() const noexcept { return families_; }
  /// For statements about other tables than those of measurements and profiles.
  [[nodiscard]] SQLite::Database& database() noexcept { return database_; }

  /// Every use of the database goes through this or in_transaction(): what SQLite throws becomes one line that names
  /// the file. Returns what `work` returns. Throws Error(profiles).
  template <class Work>
  auto guarded(const Work& work);
  /// One transaction for `work`, or a part of the one that is open. The file is looked at before and after it.
  template <class Work>
  auto in_transaction(const Work& work);

  /// Inside a transaction. What they write is rescued if the file is lost.
  void insert(const Measurement& measurement);
  void replace(const Profile& profile);
  void replace(const FittedModel& model);
  /// The rows of `table` that satisfy `condition`, whose placeholders are bound to `arguments`.
  template <class Record, class... Arguments>
  [[nodiscard]] std::vector<Record> select(const char* table, const std::string& condition,
                                           const Arguments&... arguments) {
    return heddle::select<Record>(database_, families_, table, condition, arguments...);
  }

  /// Reads back from the file that everything is there that this object wrote for the run with this number. Rescues it
  /// and throws if not.
  void confirm(std::int64_t run);

 private:
  /// Everything that this object wrote: rescued if the file is lost.
  struct Written {
    std::vector<Measurement> measurements;
    std::vector<Profile> profiles;    ///< a later one replaces an earlier one of the same key
    std::vector<FittedModel> models;  ///< likewise
  };

  [[nodiscard]] bool inside_transaction();
  template <class Work>
  auto whole_or_rescued(const Work& work);
  template <class Work>
  auto committed(const Work& work);
  void remember_committed();
  /// The damage to a file that is written.
  [[nodiscard]] std::optional<Loss> loss();
  [[nodiscard]] std::optional<Loss> loss_behind(const SQLite::Exception& exception);
  /// The file is lost. Writes what was written so far, and what `work` writes, into a new one, and throws.
  [[noreturn]] void rescue(Loss what, const std::function<void()>& work);
  [[nodiscard]] std::string rescued();
  [[noreturn]] void fail(const SQLite::Exception& exception);
  [[noreturn]] void fail(const Error& error) const;

  std::filesystem::path file_;
  FamilyRegistry families_;
  Patience patience_;
  SQLite::Database database_;
  std::optional<FileWatch> watch_;  ///< of a file that is written
  Written written_, uncommitted_;
};

template <class Work>
auto StoreFile::guarded(const Work& work) {
  if (inside_transaction()) return work();  // the outer transaction reports errors
  try {
    return work();
  } catch (const SQLite::Exception& exception) {
    fail(exception);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    fail(error);
  }
}

template <class Work>
auto StoreFile::in_transaction(const Work& work) {
  if constexpr (std::is_void_v<decltype(work())>) {
    in_transaction([&] {
      work();
      return true;
    });
  } else {
    if (inside_transaction()) return work();
    return guarded([&] { return whole_or_rescued(work); });
  }
}

/// The transaction, with a look at the file before and after it.
template <class Work>
auto StoreFile::whole_or_rescued(const Work& work) {
  const auto again = [&] { static_cast<void>(work()); };
  if (const auto before = loss()) rescue(*before, again);
  try {
    auto result = committed(work);
    if (const auto after = loss()) rescue(*after, {});
    return result;
  } catch (const SQLite::Exception& exception) {
    if (const auto meanwhile = loss_behind(exception)) rescue(*meanwhile, again);
    throw;
  }
}

template <class Work>
auto StoreFile::committed(const Work& work) {
  uncommitted_ = {};
  SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
  auto result = work();
  transaction.commit();
  remember_committed();
  return result;
}

}  // namespace heddle
