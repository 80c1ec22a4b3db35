// kernels/common/prefetch.cuh for the emulator: the same interface.
#pragma once

namespace heddle {

/// Nothing comes of it, but all of it has to be memory that could be loaded from. From the end on, where the address of
/// the last piece is a multiple of 16 only if the size is one, too.
HEDDLE_CALL void bring_range_into_cache(const void* from, int bytes) {
  for (int end = bytes; end > 0; end -= 16) {
    float unused[4];
    heddle_emulator_calls->load(static_cast<const char*>(from) + end - 16, unused, sizeof unused, HEDDLE_AT);
  }
}

}  // namespace heddle
