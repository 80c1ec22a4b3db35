// Options that several commands share, and how their values are read.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "heddle/cli/command.hpp"
#include "heddle/profiles/goal.hpp"
#include "heddle/profiles/profile_store.hpp"

namespace heddle::cli {

/// Every command takes these.
struct Common {
  bool json = false;   ///< one document on standard output and nothing else
  bool quiet = false;  ///< no progress, no remarks
};
void add_common(Command& command, Common& common);
void add_device(Command& command, std::string& device);
/// The command then refuses a wrong HEDDLE_SHIPPED_WEIGHTS, too.
void add_profile_file(Command& command, std::string& file);
/// The file named, else the default one. A note says what in it is left out.
[[nodiscard]] ProfileStore open_profiles(const Context& context, const std::string& file, ProfileStore::Access access,
                                         const Common& common);
/// The same for a command that has nothing to do without a database. Throws Error(input) if a file is named and is not
/// there. The default one need not be: nothing has been tuned then.
[[nodiscard]] ProfileStore open_present_profiles(const Context& context, const std::string& file,
                                                 ProfileStore::Access access, const Common& common);

/// --objective: the profiles that are asked for.
void add_objective(Command& command, Goal& goal);

/// All read the value of `option`, and throw Error(usage) that names it, what was found and what was expected.
[[nodiscard]] std::int64_t read_integer(const std::string& option, const std::string& text, std::int64_t least,
                                        std::int64_t most = std::numeric_limits<std::int64_t>::max());
[[nodiscard]] double read_real(const std::string& option, const std::string& text);
/// "30s", "5m", "1.5h", "500ms": seconds.
[[nodiscard]] double read_duration(const std::string& option, const std::string& text);
/// Of --l2: "cold" or "warm", whether it is the former.
[[nodiscard]] bool read_cold_cache(const std::string& text);

}  // namespace heddle::cli
