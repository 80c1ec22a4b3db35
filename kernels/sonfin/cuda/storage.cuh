// Where a resident training kernel keeps centres and widths (cells.cuh). Compiled by the C++ compiler too, which has to
// know how much shared memory and how many registers that takes.
#pragma once

namespace heddle::sonfin {

/// All in registers; all in shared memory; centres in registers and widths in shared memory; both of half of a thread's
/// rules in registers, and of the other half in shared memory.
constexpr int kRegisters = 0, kShared = 1, kSplit = 2, kHalves = 3;

/// kStream + n: of a thread's rules n stay on chip, half of them in registers and half in shared memory, and the others
/// in global memory, from where they are requested ahead for every sample (streamed_rules.cuh).
constexpr int kStream = 4;

/// Packs that are requested ahead, where a mapping does not say otherwise: parameter packs_ahead.
constexpr int kPacksAhead = 2;

/// Rules of a thread, the first of its `rules`, whose parameters stay on chip.
[[nodiscard]] constexpr int rules_on_chip(int storage, int rules) {
  return storage >= kStream ? storage - kStream : rules;
}

/// Rules of a thread, the first of its `rules`, whose centres are in registers.
[[nodiscard]] constexpr int centres_in_registers(int storage, int rules) {
  if (storage >= kStream) return (rules_on_chip(storage, rules) + 1) / 2;
  return storage == kShared ? 0 : storage == kHalves ? rules / 2 : rules;
}

/// Rules of a thread, the first of its `rules`, whose widths are in registers.
[[nodiscard]] constexpr int widths_in_registers(int storage, int rules) {
  if (storage >= kStream) return (rules_on_chip(storage, rules) + 1) / 2;
  return storage == kRegisters ? rules : storage == kHalves ? rules / 2 : 0;
}

/// Places of the ring through which a thread's streamed parameters come, each for a pack of centres and one of widths:
/// as many as it asks for ahead, but no more than it has packs.
[[nodiscard]] constexpr int places_of_ring(int ahead, int packs, int streamed) {
  return ahead < packs * streamed ? ahead : packs * streamed;
}

}  // namespace heddle::sonfin
