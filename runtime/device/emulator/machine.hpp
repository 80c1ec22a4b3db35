// The state of the emulator that outlives a launch.
#pragma once

#include <cstdint>

#include "heddle/runtime/device/emulator/address_space.hpp"
#include "heddle/runtime/device/emulator/fibre.hpp"
#include "heddle/runtime/device/emulator/knowledge.hpp"

namespace heddle::emulator {

/// State that outlives a launch.
struct Machine {
  AddressSpace space;
  FibrePool fibres;
  Segment segments = 0;         ///< numbers given out so far
  std::uint32_t read_sets = 0;  ///< likewise
  /// The first segment of the launches that may still be running when the next one starts: of the last launch if that
  /// was an ordinary one. And the same for read sets.
  Segment chain = 1;
  std::uint32_t read_set_chain = 0;

  /// All launches have ended.
  void settle() noexcept {
    chain = segments + 1;
    read_set_chain = read_sets;
  }
};

}  // namespace heddle::emulator
