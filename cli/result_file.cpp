#include "heddle/cli/result_file.hpp"

#include <fmt/format.h>

#include <string_view>
#include <system_error>

#include "heddle/cli/output.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/profiles/profile_store.hpp"

namespace heddle::cli {

namespace {

namespace fs = std::filesystem;

/// The files of the profile database, whether or not they are there.
std::vector<fs::path> files_of_database(const std::string& profiles) {
  fs::path database = profiles;
  try {
    if (profiles.empty()) database = ProfileStore::default_file();
  } catch (const Error&) {  // there is no place for one: whoever opens it says so
    return {};
  }
  // SQLite keeps its files beside where links lead to.
  std::vector<fs::path> files;
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) files.emplace_back(followed(database).string() + suffix);
  return files;
}

}  // namespace

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code ignored;
  if (fs::exists(one, ignored) && !fs::is_regular_file(one, ignored)) return false;
  if (fs::equivalent(one, other, ignored)) return true;
  const auto place = [&](const fs::path& file) { return fs::weakly_canonical(fs::absolute(file, ignored), ignored); };
  return place(one) == place(other);
}

void claim_result_file(const std::string& option, const std::string& file, const std::vector<std::string>& read,
                       const std::string& profiles) {
  if (file.empty()) return;
  const auto keep = [&](const fs::path& other, std::string_view what) {
    if (other.empty() || !is_same_file(other, file)) return;
    throw Error(ErrorKind::usage,
                fmt::format("{} {}: found {}, which {} and would be lost, expected another file",
                            option.starts_with("--") ? "option" : "argument", option, in_quotes(file), what));
  };
  constexpr std::string_view kLabels = "file:";
  for (const std::string& name : read) {
    keep(name.starts_with(kLabels) ? name.substr(kLabels.size()) : name, "is to be read");
  }
  for (const fs::path& each : files_of_database(profiles)) keep(each, "belongs to the profile database");
  leave_output_to(file);
}

}  // namespace heddle::cli
