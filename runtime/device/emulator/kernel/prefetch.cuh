// kernels/common/prefetch.cuh for the emulator: the same interface.
#pragma once

namespace heddle {

/// Nothing comes of it, but all of it has to be memory that could be loaded from.
HEDDLE_CALL void bring_into_cache(const void* from, int bytes) {
  for (int at = 0; at < bytes; at += 16) {
    float unused;
    heddle_emulator_calls->load(static_cast<const char*>(from) + at, &unused, sizeof unused, HEDDLE_AT);
  }
}

}  // namespace heddle
