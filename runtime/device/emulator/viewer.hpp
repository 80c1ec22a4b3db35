// Who looks at a word of memory, for memory_check.cpp and exchange.cpp.
#pragma once

#include "heddle/runtime/device/emulator/grid.hpp"

namespace heddle::emulator {

/// Who looks at a cell, and what it knows: a thread, or a message on its way.
struct Grid::Viewer {
  const Thread* thread;  ///< nullptr: a message
  ThreadNumber number;
  Segment segment;  ///< what it does belongs to it
  Segment ordered_before;
  std::uint32_t read_sets_before;
  const Known* foreign;
};

}  // namespace heddle::emulator
