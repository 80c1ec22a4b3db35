#pragma once

#include "heddle/runtime/device/emulator/emulator_device.hpp"

namespace heddle::test {

/// A large GPU, without asking one.
inline DeviceIdentity large_gpu() {
  DeviceIdentity device = emulator_listing().identity.value();
  device.backend = "cuda";
  device.units = 132;
  return device;
}

}  // namespace heddle::test
