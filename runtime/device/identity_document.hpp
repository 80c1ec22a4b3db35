// The identity of a device in JSON documents.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "heddle/kernels/device_identity.hpp"

namespace heddle {

/// A member for each field.
[[nodiscard]] nlohmann::ordered_json identity_document(const DeviceIdentity& device);

}  // namespace heddle
