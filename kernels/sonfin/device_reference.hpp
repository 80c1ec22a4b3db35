// The float64 reference on the device whose kernels are verified (cuda/reference.cuh), for shapes at which one core
// would take too long.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/sonfin/comparison.hpp"
#include "heddle/kernels/sonfin/workload.hpp"
#include "heddle/kernels/verification.hpp"

namespace heddle::sonfin {

/// The same result as expectation() of the same arguments, but for the last bits.
[[nodiscard]] Expectation expectation_on_device(const RunOnDevice& run, const Workload& work, std::int64_t samples);
/// Likewise for predictions().
[[nodiscard]] std::vector<double> predictions_on_device(const RunOnDevice& run, const Network& network,
                                                        const std::vector<float>& rows);

/// The reference, on the host where that takes little, else on the device if there is one. The device is believed once
/// it has agreed with the host on a small network; if it does not, the host computes everything. From one thread at a
/// time.
class References {
 public:
  /// `run`: empty if the host is to compute everything.
  explicit References(RunOnDevice run) : run_(std::move(run)) {}
  /// On a GPU alone: an emulated one is slower than the host, and a CPU has no other kernels.
  References(const DeviceIdentity& device, RunOnDevice run)
      : References(device.backend == "cuda" ? std::move(run) : RunOnDevice{}) {}

  [[nodiscard]] Expectation expectation(const Workload& work, std::int64_t samples);
  [[nodiscard]] std::vector<double> predictions(const Network& network, const std::vector<float>& rows);
  /// The programs that the device runs; none without a device.
  [[nodiscard]] std::vector<DeviceProgram> programs() const;
  /// Whether the device computes what the host computes; false without a device.
  [[nodiscard]] bool device_agrees();

 private:
  /// The result of `device()` where that pays and the device can do it, else that of `host()`.
  template <class OnDevice, class OnHost>
  [[nodiscard]] auto cheaper(double operations, const OnDevice& device, const OnHost& host) -> decltype(host());
  /// A core does so many in a few milliseconds.
  static constexpr double kManyOperations = 2e6;

  RunOnDevice run_;
  std::optional<bool> agrees_;
};

}  // namespace heddle::sonfin
