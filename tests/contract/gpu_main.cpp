// Tests that need an NVIDIA GPU: skipped in plain sight where there is none.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <iostream>

#include "heddle/runtime/device/cuda/cuda_device.hpp"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  const heddle::DeviceListing first = heddle::cuda_listings().front();
  if (!first.identity) {
    std::cout << "skipped: " << first.remark << '\n';
    return kSkipped;
  }
  doctest::Context context(argc, argv);
  return context.run();
}
