// The device "cpu": templates compiled by the system's C++ compiler, run by a team of threads.
#pragma once

#include <memory>

#include "heddle/runtime/device/cpu/thread_team.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// Compiled code is kept in CompileCache::default_folder("cpu"). Without a compiler only what is built in runs: the
/// default configuration of every family. `team`: the threads that run its kernels; new ones if empty. Throws
/// Error(device) if the cache belongs to somebody else.
[[nodiscard]] std::unique_ptr<Device> open_cpu_device(std::shared_ptr<ThreadTeam> team = {},
                                                      const Compiling& compiling = {});
[[nodiscard]] DeviceListing cpu_listing();

}  // namespace heddle
