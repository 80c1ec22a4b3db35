// How an attempt to run a configuration ended.
#pragma once

#include <optional>
#include <string_view>

namespace heddle {

/// How an attempt ended. Only `correct` and `unverified` have times.
enum class Status {
  correct,         ///< timed, and verified against the reference
  unverified,      ///< timed; lost before verification was worth while
  pruned,          ///< timing stopped early: it could not win
  constraint,      ///< not allowed for this problem
  compilation,     ///< the compiler refused it
  launch,          ///< could not be loaded or launched, or lacked resources
  wrong_result,    ///< too far from the reference
  overrun,         ///< wrote behind a buffer
  illegal_access,  ///< the device reported a bad address
  hang,            ///< did not end in time
  out_of_memory,   ///< took all memory there was
  crash,           ///< ended the process it ran in
};
[[nodiscard]] std::string_view text(Status status);
[[nodiscard]] std::optional<Status> parse_status(std::string_view text);
/// Whether a failure of this kind may leave the device unusable.
[[nodiscard]] bool takes_device_down(Status status);

}  // namespace heddle
