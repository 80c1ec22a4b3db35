// The card of tests that need one to reason about, and none to run on.
#pragma once

#include "heddle/kernels/device_identity.hpp"

namespace heddle::bench {

/// With clusters, and the shared memory of a block of them.
inline const DeviceIdentity kCard{.backend = "cuda",
                                  .name = "test",
                                  .architecture = "9.0",
                                  .units = 132,
                                  .memory_gib = 140,
                                  .cache_bytes = 50 << 20,
                                  .local_bytes = 227 << 10};

}  // namespace heddle::bench
