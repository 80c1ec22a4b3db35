// Files that a command writes its result to.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heddle::cli {

/// Whether two names mean one file, which need not exist yet. Pipes and devices are no files.
[[nodiscard]] bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other);

/// To be called before any work whose result goes to `file`, the value of `option` ("--output", or "FILE" of an
/// argument); nothing is done for an empty name. `read`: files that the command reads, or labels as "file:PATH".
/// `profiles`: the profile database as --profiles names it; empty: the default one.
///
/// Throws Error(usage) where the result would take the place of one of them, or of a file that SQLite keeps beside the
/// database. Where `file` is what standard output goes to (/dev/stdout), everything printed from now on goes to
/// standard error, so that the result has its file to itself.
void claim_result_file(const std::string& option, const std::string& file, const std::vector<std::string>& read,
                       const std::string& profiles);

}  // namespace heddle::cli
