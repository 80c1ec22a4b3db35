// What binds arithmetic on arrays, measured on the device: how fast memory is copied, and how fast rounded operations
// are done.
#pragma once

#include <cstdint>
#include <map>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle::bench {

struct PlainLimits {
  double copied = 0.0;                        ///< bytes that are read or written in a microsecond
  std::map<std::int64_t, double> operations;  ///< rounded ones in a microsecond, by the bits of a number: 32 and 64

  /// Microseconds below which `work` cannot be done, and whether moving its bytes takes that long.
  struct Floor {
    double microseconds = 0.0;
    bool of_copy = true;
  };
  [[nodiscard]] Floor floor_of(const Work& work, std::int64_t bits) const;
};

/// How much is measured.
struct LimitSizes {
  std::int64_t packets = 40'000'000;  ///< of 16 bytes, copied
  std::int64_t threads = 0;           ///< that multiply; 0: several times as many as the device has room for
  std::int64_t rounds = 4096;         ///< of 16 products each
};

/// Runs a copy of packets of 16 bytes, and products that are rounded downwards, of which none waits for another one (on
/// a CPU: products rounded to nearest, on one thread). Throws DeviceFailure; Error(device) if they cannot run.
[[nodiscard]] PlainLimits measure_limits(Device& device, int rounds, unsigned seed, const LimitSizes& sizes = {});

}  // namespace heddle::bench
