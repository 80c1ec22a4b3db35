// With what, where and when something was measured.
#pragma once

#include <cstdint>
#include <string>

namespace heddle {

/// Recorded beside what was measured, never part of identity. Empty: unknown.
struct Provenance {
  std::string driver;    ///< "580.159.04 (CUDA 13.0)"
  std::string compiler;  ///< "NVRTC 13.0", "g++ 12.2.0"
  std::string tool;      ///< "heddle 0.1.0"
  std::string host;
  std::string clocks;  ///< seen, not set: "SM 1980 MHz, memory 3201 MHz"
  std::string date;    ///< UTC, "2026-01-31T12:00:00Z"
  std::int64_t seed = 0;
  std::string strategy;
  bool operator==(const Provenance&) const = default;
};

}  // namespace heddle
