// The state of a card according to NVIDIA's management library, for provenance.
#pragma once

#include <optional>
#include <string>

#include "heddle/runtime/device/cuda/shared_library.hpp"

namespace heddle {

/// Every answer is empty where the library or the answer is missing.
class Nvml {
 public:
  /// `bus`: PCI bus id of the card, as the driver prints it.
  explicit Nvml(const std::string& bus);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] std::string driver_version() const;  ///< "580.159.04"
  [[nodiscard]] std::string clocks() const;          ///< now: "SM 1980 MHz, memory 3201 MHz"
  /// That the card has taken since the driver was loaded. Cards before Volta have no counter.
  [[nodiscard]] std::optional<double> joules() const;

 private:
  SharedLibrary library_;
  void* card_ = nullptr;  ///< nvmlDevice_t
  bool initialised_ = false;
};

}  // namespace heddle
