// How much the contract asks of a device: what it does in seconds.
#pragma once

#include <cstdint>

namespace heddle::contract {

inline constexpr std::int64_t kSamples = 12;
// Operations of one run: what the emulator does in seconds, and the float64 reference.
inline constexpr double kMostEmulated = 6e6, kMost = 1e9;
// On the emulator, of what is drawn: threads of a launch, more of which only make more of the same, and of all launches
// of a run. In seconds again.
inline constexpr std::int64_t kMostThreads = 2048, kMostStarts = 100000;
// On the emulator, threads of a launch of a corner (Draw): each may take some 700 KB of memory while it runs.
inline constexpr std::int64_t kMostThreadsOfCorner = 8192;

}  // namespace heddle::contract
