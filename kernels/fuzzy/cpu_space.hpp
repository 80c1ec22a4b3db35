// What the families of fuzzy numbers have in common on a CPU.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/kernels/search_space.hpp"

namespace heddle::fuzzy {

[[nodiscard]] std::int64_t cores_of(const DeviceIdentity& device);
/// The parameter "threads": as many as there are cores, and powers of two below.
[[nodiscard]] Parameter threads_parameter(const DeviceIdentity& device);
/// Floats in the widest vector of an instruction set: the first template argument of kernels in the binary.
[[nodiscard]] std::int64_t floats_in_vector(std::string_view architecture);

}  // namespace heddle::fuzzy
