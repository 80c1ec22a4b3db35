// What runs, and why, as Python has it.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "heddle/runtime/kernel/kernel_explanation.hpp"

namespace heddle::python {

[[nodiscard]] inline nanobind::dict to_dict(const KernelExplanation& explanation) {
  const auto candidate = [](const std::optional<Candidate>& of) -> nanobind::object {
    if (!of) return nanobind::none();
    nanobind::dict entry;
    entry["configuration"] = of->configuration.text();
    entry["tier"] = std::string(heddle::text(of->tier));
    entry["reason"] = of->reason;
    return entry;
  };
  nanobind::dict entry;
  entry["kernel"] = explanation.family;
  entry["device"] = explanation.device.name;
  entry["problem"] = explanation.problem.text();
  entry["running"] = candidate(explanation.running);
  entry["awaited"] = candidate(explanation.awaited);
  entry["failures"] = explanation.failures;
  entry["text"] = explanation.text();
  return entry;
}

}  // namespace heddle::python
