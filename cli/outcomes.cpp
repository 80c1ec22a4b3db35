#include "heddle/cli/outcomes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace heddle::cli {
namespace {

struct Kind {
  Status status;
  std::string_view name, meaning;
};

/// Outcomes that are no failures.
constexpr std::array kKinds{
    Kind{Status::correct, "verified", "timed, and their results agree with "},
    Kind{Status::unverified, "timed", "not verified, because another configuration won"},
    Kind{Status::pruned, "stopped early", "too slow to win"},
    Kind{Status::constraint, "not allowed", "published configurations that do not fit these sizes"},
};

std::string with_spaces(std::string_view status) {
  std::string name(status);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// The failures by kind, as "launch 1, wrong result 2"; empty if there are none.
std::string failures_text(const Outcomes& outcomes, std::int64_t& total) {
  std::string text;
  for (const auto& [status, count] : outcomes) {
    if (std::ranges::find(kKinds, status, &Kind::status) != kKinds.end()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", with_spaces(heddle::text(status)), count);
    total += count;
  }
  return text;
}

}  // namespace

bool failed(Status status) {
  return status != Status::correct && status != Status::unverified && status != Status::pruned;
}

std::string outcomes_text(const Outcomes& outcomes) {
  std::vector<std::string> parts;
  for (const Kind& kind : kKinds) {
    const auto found = outcomes.find(kind.status);
    if (found != outcomes.end()) parts.push_back(fmt::format("{} {}", found->second, kind.name));
  }
  std::int64_t failed = 0;
  if (const std::string failures = failures_text(outcomes, failed); failed > 0) {
    parts.push_back(fmt::format("{} failed ({})", failed, failures));
  }
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string explained(const Outcomes& outcomes, const std::string& verified_against) {
  std::string text;
  for (const Kind& kind : kKinds) {
    const auto found = outcomes.find(kind.status);
    if (found != outcomes.end()) {
      text += fmt::format("  {:>5} {}: {}{}\n", found->second, kind.name, kind.meaning,
                          kind.status == Status::correct ? verified_against : "");
    }
  }
  std::int64_t failed = 0;
  if (const std::string failures = failures_text(outcomes, failed); failed > 0) {
    text += fmt::format("  {:>5} failed ({}): never used; 'heddle profiles show' tells why\n", failed, failures);
  }
  return text;
}

}  // namespace heddle::cli
