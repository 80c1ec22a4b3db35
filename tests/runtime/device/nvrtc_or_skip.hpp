// NVRTC for tests that compile CUDA templates; needs no GPU.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "heddle/runtime/device/cuda/nvrtc.hpp"
#include "skip.hpp"

namespace heddle::test {

/// Null where NVRTC is not installed. The test is then skipped; where HEDDLE_TEST_EXPECT is "nvrtc", it has failed.
inline std::shared_ptr<const Nvrtc> nvrtc_or_skip() {
  try {
    return Nvrtc::open();
  } catch (const Error& error) {
    const char* const expected = std::getenv("HEDDLE_TEST_EXPECT");
    if (expected != nullptr && std::string(expected) == "nvrtc") {
      FAIL("NVRTC is expected here: " << error.what());
    }
    skip(error.what());
    return nullptr;
  }
}

}  // namespace heddle::test
