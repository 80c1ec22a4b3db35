// What the kernels of limits.cuh and the host that launches them have to agree on.
#pragma once

namespace heddle::bench {

constexpr int kChains = 16;         ///< independent multiply-adds of a thread: enough to hide their latency
constexpr int kSteps = 32;          ///< multiply-adds of a chain per round
constexpr int kPacketsPerLane = 6;  ///< that a lane awaits, so a grid has at most a warp times as many blocks

}  // namespace heddle::bench
