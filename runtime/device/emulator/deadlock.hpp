// What the threads of a launch wait for when none can go on.
#pragma once

#include <memory>
#include <vector>

#include "heddle/runtime/device/emulator/finding.hpp"
#include "heddle/runtime/device/emulator/threads.hpp"

namespace heddle::emulator {

/// "threads 0 to 31 of block (1, 0, 0) wait at a barrier at train.cuh:80; ..."
[[nodiscard]] Finding deadlock(const std::vector<std::unique_ptr<Cluster>>& alive);

}  // namespace heddle::emulator
