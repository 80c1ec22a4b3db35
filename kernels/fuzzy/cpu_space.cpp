#include "heddle/kernels/fuzzy/cpu_space.hpp"

#include <algorithm>
#include <utility>

namespace heddle::fuzzy {

std::int64_t cores_of(const DeviceIdentity& device) { return std::max<std::int64_t>(device.units, 1); }

Parameter threads_parameter(const DeviceIdentity& device) {
  Parameter threads{
      .name = "threads", .values = {cores_of(device)}, .meaning = "threads that share the work", .active = {}};
  for (std::int64_t count = 1 << 16; count >= 1; count /= 2) {
    if (count < cores_of(device)) threads.values.emplace_back(count);
  }
  return threads;
}

std::int64_t floats_in_vector(std::string_view architecture) {
  return architecture == "x86-64-v4" ? 16 : architecture == "x86-64-v3" ? 8 : 4;
}

}  // namespace heddle::fuzzy
