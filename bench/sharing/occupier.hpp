// Other work on the GPU that heddle trains on: holds a share of the multiprocessors for as long as it lives.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "heddle/kernels/template_source.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle::bench {

[[nodiscard]] const TemplateSource& occupier_source();
/// Every kernel of occupier_source(), as C++ expressions.
[[nodiscard]] Kernels occupier_kernels();

/// One block per multiprocessor that is held, with all the shared memory a block may have and half the threads of a
/// multiprocessor. Launches of a few milliseconds follow each other from a thread of its own.
class Occupier {
 public:
  /// 0 < `share` <= 1 of the multiprocessors. Returns once they are held. Throws DeviceFailure.
  Occupier(Device& device, double share);
  ~Occupier();
  Occupier(const Occupier&) = delete;
  Occupier& operator=(const Occupier&) = delete;

  [[nodiscard]] std::int64_t blocks() const noexcept { return blocks_; }
  /// Launches that have ended.
  [[nodiscard]] std::int64_t launches() const noexcept { return launches_; }
  /// Stops, and throws the DeviceFailure that ended it early, if one did.
  void stop();

 private:
  std::int64_t blocks_;
  std::unique_ptr<Execution> execution_;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::int64_t> launches_ = 0;
  std::string failure_;
  std::thread thread_;
};

}  // namespace heddle::bench
