#include "heddle/cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "heddle/cli/output.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/profiles/shipped_models.hpp"
#include "heddle/runtime/dispatch/notices.hpp"

namespace heddle::cli {
namespace {

template <typename Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

[[noreturn]] void refuse(const std::string& option, const std::string& found, const std::string& expected) {
  throw Error(ErrorKind::usage, fmt::format("option {}: found {}, expected {}", option, in_quotes(found), expected));
}

}  // namespace

void add_common(Command& command, Common& common) {
  command.flag("--json", "One JSON document on standard output and nothing else there", common.json);
  command.flag("--quiet,-q", "No progress and no remarks", common.quiet);
}

void add_device(Command& command, std::string& device) {
  command.option("--device", "D", "What to run on, as 'heddle devices' lists it [default: the best one]", device);
}

void add_profile_file(Command& command, std::string& file) {
  command.option("--profiles", "FILE",
                 "Profile database [default: HEDDLE_PROFILES, else heddle/profiles.sqlite in the XDG data directory]",
                 file);
  // A command that chooses from profiles chooses by models of times, too. A wrong word about the shipped ones is
  // refused on every device, also where no model is asked for, and before data are read.
  command.begin_with([] { (void)shipped_models_wanted(); });
}

void add_objective(Command& command, Goal& goal) {
  command.option("--objective", "O", "Choose from the profiles that 'heddle tune --objective O' made [default: time]",
                 [&goal](const std::string& text) { goal.objective = Goal::of(text).objective; });
}

ProfileStore open_profiles(const Context& context, const std::string& file, ProfileStore::Access access,
                           const Common& common) {
  ProfileStore store(file.empty() ? ProfileStore::default_file() : std::filesystem::path(file), access,
                     context.families);
  if (common.quiet) return store;
  const std::vector<std::string> left_out = store.left_out();
  if (!left_out.empty()) {
    note(left_out_line(fmt::format("profile database {}", store.file().string()), left_out.front(), left_out.size()));
  }
  return store;
}

ProfileStore open_present_profiles(const Context& context, const std::string& file, ProfileStore::Access access,
                                   const Common& common) {
  std::error_code other;  // what cannot be looked at is told by who opens it
  if (!file.empty() && !std::filesystem::exists(file, other) && !other) {
    throw Error(ErrorKind::input, fmt::format("profile database {}: found no file, expected one that 'heddle tune' or "
                                              "'heddle profiles import' made",
                                              file));
  }
  return open_profiles(context, file, access, common);
}

std::int64_t read_integer(const std::string& option, const std::string& text, std::int64_t least, std::int64_t most) {
  const auto number = parse<std::int64_t>(text);
  if (number && *number >= least && *number <= most) return *number;
  refuse(option, text,
         most == std::numeric_limits<std::int64_t>::max() ? fmt::format("a whole number of at least {}", least)
                                                          : fmt::format("a whole number from {} to {}", least, most));
}

double read_real(const std::string& option, const std::string& text) {
  const auto number = parse<double>(text);
  if (number && std::isfinite(*number)) return *number;
  refuse(option, text, "a number");
}

bool read_cold_cache(const std::string& text) {
  if (text != "cold" && text != "warm") refuse("--l2", text, "cold or warm");
  return text == "cold";
}

double read_duration(const std::string& option, const std::string& text) {
  static constexpr std::pair<std::string_view, double> units[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
  const std::size_t digits = text.find_first_not_of("0123456789.");
  if (digits != std::string::npos) {
    const auto number = parse<double>(std::string_view(text).substr(0, digits));
    for (const auto& [unit, seconds] : units) {
      if (number && *number > 0 && text.substr(digits) == unit) return *number * seconds;
    }
  }
  refuse(option, text, "a time with its unit, such as 30s, 5m or 1h");
}

}  // namespace heddle::cli
