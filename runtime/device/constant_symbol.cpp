#include "heddle/runtime/device/constant_symbol.hpp"

#include <fmt/format.h>

namespace heddle {

std::string mangled_variable(std::string_view name) {
  constexpr std::string_view kScope = "::";
  if (name.starts_with(kScope)) name.remove_prefix(kScope.size());
  if (name.find(kScope) == std::string_view::npos) return std::string(name);
  std::string mangled = "_ZN";
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find(kScope));
    mangled += std::to_string(part.size());
    mangled += part;
    name.remove_prefix(part.size());
    if (name.starts_with(kScope)) name.remove_prefix(kScope.size());
  }
  return mangled + 'E';
}

void require_constant(const Buffer& buffer, std::int64_t variable_bytes, std::string_view device) {
  if (buffer.bytes <= variable_bytes) return;
  throw DeviceFailure(Status::launch, fmt::format("{}: the __constant__ variable '{}' has {} bytes, buffer '{}' has {}",
                                                  device, buffer.symbol, variable_bytes, buffer.name, buffer.bytes));
}

DeviceFailure no_constant(const Buffer& buffer, std::string_view device) {
  return {Status::launch,
          fmt::format("{}: the kernel's program has no __constant__ variable '{}' that could be found by its name (one "
                      "that is static, const or in a namespace without a name cannot)",
                      device, buffer.symbol)};
}

}  // namespace heddle
