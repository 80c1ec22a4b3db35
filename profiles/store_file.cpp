#include "heddle/profiles/store_file.hpp"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace heddle {
namespace {

bool every_page_reads(SQLite::Database& database) {
  return database.execAndGet("SELECT quick_check FROM pragma_quick_check LIMIT 1").getString() == "ok";
}

}  // namespace

StoreFile::StoreFile(std::filesystem::path file, Mode mode, FamilyRegistry families, Patience patience)
    : file_(std::move(file)),
      families_(std::move(families)),
      patience_(patience),
      database_(mode == Mode::read ? open_for_reading(file_, patience) : open_for_writing(file_, patience)),
      watch_(mode == Mode::read || file_ == kInMemory ? std::nullopt : std::optional(FileWatch())) {}

bool StoreFile::inside_transaction() { return sqlite3_get_autocommit(database_.getHandle()) == 0; }

void StoreFile::fail(const SQLite::Exception& exception) {
  if (const auto loss = loss_behind(exception)) rescue(*loss, {});
  throw explained(exception, file_, patience_);
}

void StoreFile::fail(const Error& error) const {
  std::string line = error.what();  // which may quote anything that is in a row
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  throw Error(ErrorKind::profiles, fmt::format("profile database {}: damaged: {}", file_.string(), line));
}

void StoreFile::insert(const Measurement& measurement) {
  uncommitted_.measurements.push_back(measurement);
  heddle::insert(database_, measurement);
}

void StoreFile::replace(const Profile& profile) {
  uncommitted_.profiles.push_back(profile);
  heddle::replace(database_, profile);
}

void StoreFile::replace(const FittedModel& model) {
  uncommitted_.models.push_back(model);
  heddle::replace(database_, model);
}

void StoreFile::remember_committed() {
  std::ranges::move(uncommitted_.measurements, std::back_inserter(written_.measurements));
  std::ranges::move(uncommitted_.profiles, std::back_inserter(written_.profiles));
  std::ranges::move(uncommitted_.models, std::back_inserter(written_.models));
}

std::optional<Loss> StoreFile::loss() {
  if (!watch_) return std::nullopt;
  return watch_->loss(database_, [&] {
    try {
      SQLite::Database reader = open_for_reading(file_, patience_);
      return every_page_reads(reader);
    } catch (const SQLite::Exception&) {
      return false;
    } catch (const Error&) {
      return false;
    }
  });
}

std::optional<Loss> StoreFile::loss_behind(const SQLite::Exception& exception) {
  if (!watch_) return std::nullopt;
  const auto found = loss();
  return !found && cannot_be_read(exception) ? Loss::damaged : found;
}

void StoreFile::rescue(Loss what, const std::function<void()>& work) {
  const Written lost = std::exchange(written_, {});
  watch_.reset();
  SQLite::Database refuge = open_for_writing(kInMemory, patience_);
  abandon(std::exchange(database_, std::move(refuge)), file_, what);
  committed([&] {
    for (const Measurement& measurement : lost.measurements) insert(measurement);
    for (const Profile& profile : lost.profiles) replace(profile);
    for (const FittedModel& model : lost.models) replace(model);
    return true;
  });
  try {
    committed([&] {
      if (work) work();
      return true;
    });
  } catch (const std::exception&) {  // what it could not find there
  }
  throw Error(ErrorKind::profiles, fmt::format("profile database {}: {} while heddle was writing to it; {}",
                                               file_.string(), text(what), rescued()));
}

/// Where what was written is now.
std::string StoreFile::rescued() {
  if (written_.measurements.empty() && written_.profiles.empty() && written_.models.empty())
    return "nothing had been written yet";
  // The numbers of runs mean something in the lost file only.
  database_.exec("UPDATE measurements SET run = 0; UPDATE profiles SET run = 0");
  const auto copy = copy_beside(database_, file_);
  if (!copy) return "what it had written could not be put anywhere else either";
  return fmt::format("what it had written is in {}", copy->string());
}

void StoreFile::confirm(std::int64_t run) {
  if (!watch_) return;
  Loss found = Loss::damaged;
  try {
    SQLite::Database reader = open_for_reading(file_, patience_);
    if (every_page_reads(reader)) {
      SQLite::Statement row(reader,
                            "SELECT (SELECT count(*) FROM measurements WHERE run = ?1), "
                            "(SELECT count(*) FROM runs WHERE id = ?1)");
      bind_all(row, run);
      row.executeStep();
      const auto measured = std::ranges::count(written_.measurements, run, &Measurement::run);
      if (row.getColumn(0).getInt64() >= measured && row.getColumn(1).getInt64() == 1) return;
      found = Loss::incomplete;
    }
  } catch (const SQLite::Exception& exception) {
    if (!cannot_be_read(exception)) throw;
  } catch (const Error&) {  // it is no database of heddle any more, or no further file can be opened
    found = Loss::unreadable;
  }
  rescue(loss().value_or(found), {});
}

}  // namespace heddle
