// Whether a mapping that was measured at other sizes spills registers here, which no model of times foresees.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "heddle/kernels/stop.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"

namespace heddle {

/// Bytes of local memory that a thread of a candidate's kernels takes when they are compiled for a problem. Nothing
/// where nobody can say.
using LocalBytesAt = std::function<std::optional<std::int64_t>(const Problem&)>;

/// Why `candidate` should run at `problem` after all others only (CandidateRow::pass_over()): its kernels take markedly
/// more local memory there than where it was measured, or than none if it was measured nowhere. Nothing for the
/// family's default, for what was measured at `problem`, and where the device does not say. `local_bytes` is mostly
/// asked about `problem` alone.
[[nodiscard]] std::optional<std::string> spilling(const Dispatcher& dispatcher, const Candidate& candidate,
                                                  const Problem& problem, const LocalBytesAt& local_bytes);

/// The same by a device, which compiles the kernels of the candidate's origin if need be. `binary`: those for
/// `problem`. Throws Interrupted as soon as `stop` says so.
[[nodiscard]] std::optional<std::string> spilling(const Dispatcher& dispatcher, const Candidate& candidate,
                                                  const Problem& problem, Device& device, const Binary& binary,
                                                  const Stop& stop);

}  // namespace heddle
