// The contents of a problem's buffers, kept on the device between measurements.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "heddle/kernels/problem.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// Copies of what is in the buffers before a timed run, of the problems that came last. To make contents anew for every
/// configuration takes longer than to measure it: a matrix of 64 MiB is drawn in 0.1 s, and multiplied in 10 ms.
class KeptContents {
 public:
  /// The device must outlive it. Keeps at most `most_bytes`.
  KeptContents(Device& device, std::int64_t most_bytes) : device_(device), most_bytes_(most_bytes) {}

  /// By buffer; read only.
  using Buffers = std::map<std::string, std::shared_ptr<Memory>, std::less<>>;
  /// The contents of a problem; null if they are not kept.
  [[nodiscard]] const Buffers* find(const Problem& problem) const;
  /// Keeps these if the device has room for them; forgets those that have been kept longest.
  void keep(const Problem& problem, const ViewedImage& contents);
  [[nodiscard]] bool empty() const noexcept { return kept_.empty(); }
  void clear();

 private:
  struct Kept {
    Problem problem;
    Buffers buffers;
    std::int64_t bytes = 0;
  };

  Device& device_;
  std::int64_t most_bytes_;
  std::deque<Kept> kept_;  ///< the one kept longest first
  std::int64_t bytes_ = 0;
};

}  // namespace heddle
