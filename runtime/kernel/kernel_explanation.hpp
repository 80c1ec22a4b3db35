// Which configuration of a tuned kernel runs at some sizes, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/problem.hpp"
#include "heddle/runtime/dispatch/candidate.hpp"

namespace heddle {

struct KernelExplanation {
  std::string family;
  DeviceIdentity device;
  Problem problem;
  /// What runs now. Nothing if the kernel was never called at these sizes, or if nothing could run.
  std::optional<Candidate> running;
  /// What is going to run: while it is being compiled, or, if nothing runs, with the first call.
  std::optional<Candidate> awaited;
  /// What was to run and failed, or was passed over, a line each: "block_size=128 (error: no room)".
  std::vector<std::string> failures;

  /// Several lines for people, no newline at the end.
  [[nodiscard]] std::string text() const;
};

}  // namespace heddle
