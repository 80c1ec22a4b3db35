// How a configuration fails on a device.
#pragma once

#include <string>
#include <string_view>

#include "heddle/kernels/error.hpp"
#include "heddle/profiles/status.hpp"

namespace heddle {

/// Thrown when a configuration fails on a device; the status says how.
class DeviceFailure : public Error {
 public:
  DeviceFailure(Status status, const std::string& line) : Error(ErrorKind::device, line), status_(status) {}
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/// For a kernel whose blocks wait for each other, when one waited in vain.
[[nodiscard]] DeviceFailure lost_block(std::string_view device);

/// The line of a compiler's log that says what is wrong first; its notes and warnings may come before.
[[nodiscard]] std::string first_complaint(const std::string& log);

/// How the log of a compiler begins that took too long or too much memory, died, or could not be started.
inline constexpr std::string_view kCompilerFailed = "error: the compiler";
/// Whether a first_complaint() is of that kind: no fault of the code's, which may well compile another time.
[[nodiscard]] bool is_compilers_failure(std::string_view complaint);

/// How the line of a hang begins that may be none: the kernel got less of the processor than it may take.
inline constexpr std::string_view kStarved = "got too little of the processor";
[[nodiscard]] bool is_starvation(std::string_view complaint);

}  // namespace heddle
