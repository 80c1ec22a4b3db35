// What a compiled configuration takes of a multiprocessor.
#pragma once

#include <cstdint>

namespace heddle {

/// The most over the kernels of a plan; of the occupancy the least.
struct KernelResources {
  std::int64_t registers = 0;     ///< of a thread
  std::int64_t shared_bytes = 0;  ///< of a block, static and dynamic
  std::int64_t local_bytes = 0;   ///< of a thread: registers that were spilled, and arrays
  double occupancy = 0.0;  ///< threads that a multiprocessor holds at once, as a part of the most that it can hold
  bool operator==(const KernelResources&) const = default;
};

}  // namespace heddle
