#include "heddle/kernels/own/expression_names.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace heddle {

namespace {

std::optional<Value> device_value(const DeviceIdentity& device, std::string_view name) {
  if (name == "backend") return Value(device.backend);
  if (name == "units") return Value(device.units);
  if (name == "compute_capability") return Value(std::int64_t{device.compute_capability()});
  if (name == "local_bytes") return Value(device.local_bytes);
  return std::nullopt;
}

}  // namespace

const std::vector<std::string>& device_names() {
  static const std::vector<std::string> names{"backend", "units", "compute_capability", "local_bytes"};
  return names;
}

Expression::Names names_of(const Configuration* configuration, const Problem* problem, const DeviceIdentity* device) {
  return [=](std::string_view name) -> std::optional<Value> {
    if (configuration != nullptr) {
      const auto found = std::ranges::find(configuration->entries(), name, &Configuration::Entry::first);
      if (found != configuration->entries().end()) return found->second;
    }
    if (const AxisValue size = problem != nullptr ? problem->find(name) : std::nullopt) return Value(*size);
    return device != nullptr ? device_value(*device, name) : std::nullopt;
  };
}

}  // namespace heddle
