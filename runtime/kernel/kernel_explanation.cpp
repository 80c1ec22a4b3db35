#include "heddle/runtime/kernel/kernel_explanation.hpp"

#include <fmt/format.h>

namespace heddle {

std::string KernelExplanation::text() const {
  std::string lines =
      fmt::format("{} at {} on {} ({} {})", family, problem.text(), device.name, device.backend, device.architecture);
  const auto add = [&](const char* what, const Candidate& candidate) {
    lines += fmt::format("\n{:<10}{}\n{:<10}{}: {}", what, candidate.configuration.text(), "because",
                         heddle::text(candidate.tier), candidate.reason);
  };
  if (running) add("runs", *running);
  if (awaited) add(running ? "compiling" : "would run", *awaited);
  for (const std::string& failure : failures) lines += fmt::format("\n{:<10}{}", "failed", failure);
  return lines;
}

}  // namespace heddle
