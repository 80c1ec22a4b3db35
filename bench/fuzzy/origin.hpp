// With what a table was measured, as lines that begin with '#'.
#pragma once

#include <fmt/format.h>

#include <string_view>

#include "heddle/kernels/kernel_version.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle::bench {

inline void print_origin(const Device& device) {
  const Provenance& origin = device.provenance();
  fmt::print("# {}; driver {}; {}; {}\n", device.identity().name, origin.driver, origin.compiler, origin.clocks);
}

inline void print_kernels(const KernelFamily& family, const DeviceIdentity& device) {
  const KernelVersion version = kernel_version(family, device);
  fmt::print("# {}: templates {}, contract {}\n", family.name(), version.source_hash, version.contract_digest);
}

}  // namespace heddle::bench
