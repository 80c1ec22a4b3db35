// The thread or message that accesses a word of memory, for memory_check.cpp and exchange.cpp.
#pragma once

#include "heddle/runtime/device/emulator/grid.hpp"

namespace heddle::emulator {

/// The thread or message that accesses a cell, with its knowledge of others.
struct Grid::Viewer {
  const Thread* thread;  ///< nullptr: a message
  ThreadNumber number;
  Segment segment;  ///< what it does belongs to it
  Segment ordered_before;
  std::uint32_t read_sets_before;
  const Known* foreign;
};

}  // namespace heddle::emulator
