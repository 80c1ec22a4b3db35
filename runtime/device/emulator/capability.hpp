// The capabilities of an emulated GPU.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/plan.hpp"

namespace heddle::emulator {

/// Limits of a compute capability; CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
struct Capability {
  int number;                         ///< 90 for 9.0
  std::int64_t block_shared_kib;      ///< shared memory that one block may opt in to
  std::int64_t processor_shared_kib;  ///< of a multiprocessor
  std::int64_t processor_threads;
  std::int64_t processors;  ///< of a well-known card
  unsigned cluster;         ///< blocks in a cluster, at most
};

/// Throws Error(device) with those there are.
[[nodiscard]] const Capability& capability(int number);

[[nodiscard]] DeviceIdentity identity(const Capability& capability);

/// Throws DeviceFailure(launch) with what the capability does not allow.
void require(const Capability& capability, const Launch& launch, std::string_view kernel);

}  // namespace heddle::emulator
