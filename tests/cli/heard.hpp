// How soon after Ctrl-C a program has to end.
#pragma once

#include <chrono>

namespace heddle::test {

/// More than the 2 s that are promised, for a machine with other work, and far less than any of the waits takes.
constexpr std::chrono::seconds kHeard{5};

}  // namespace heddle::test
