// Where a resident training kernel keeps centres and widths (cells.cuh). Compiled by the C++ compiler too, which has to
// know how much shared memory and how many registers that takes.
#pragma once

namespace heddle::sonfin {

/// All in registers; all in shared memory; centres in registers and widths in shared memory; both of half of a thread's
/// rules in registers, and of the other half in shared memory.
constexpr int kRegisters = 0, kShared = 1, kSplit = 2, kHalves = 3;

/// Rules of a thread, the first of its `rules`, whose centres are in registers.
[[nodiscard]] constexpr int centres_in_registers(int storage, int rules) {
  return storage == kShared ? 0 : storage == kHalves ? rules / 2 : rules;
}

/// Rules of a thread, the first of its `rules`, whose widths are in registers.
[[nodiscard]] constexpr int widths_in_registers(int storage, int rules) {
  return storage == kRegisters ? rules : storage == kHalves ? rules / 2 : 0;
}

}  // namespace heddle::sonfin
