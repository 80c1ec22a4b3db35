#include <cstdlib>
#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/profiles/profile_store.hpp"

namespace heddle {

namespace {

std::string environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::filesystem::path ProfileStore::default_file() {
  const std::string named = environment_variable("HEDDLE_PROFILES");
  if (!named.empty()) return named;
  const std::filesystem::path below = std::filesystem::path("heddle") / "profiles.sqlite";
  const std::filesystem::path data = environment_variable("XDG_DATA_HOME");
  if (data.is_absolute()) return data / below;  // the specification has relative ones ignored
  const std::filesystem::path home = environment_variable("HOME");
  if (home.is_absolute()) return home / ".local" / "share" / below;
  throw Error(ErrorKind::profiles,
              "no place for the profile database: expected --profiles, HEDDLE_PROFILES, XDG_DATA_HOME or HOME");
}

}  // namespace heddle
