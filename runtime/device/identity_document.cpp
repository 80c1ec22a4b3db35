#include "heddle/runtime/device/identity_document.hpp"

#include <nlohmann/json.hpp>

namespace heddle {

nlohmann::ordered_json identity_document(const DeviceIdentity& device) {
  return {{"backend", device.backend},           {"name", device.name},
          {"architecture", device.architecture}, {"units", device.units},
          {"memory_gib", device.memory_gib},     {"cache_bytes", device.cache_bytes},
          {"local_bytes", device.local_bytes}};
}

}  // namespace heddle
