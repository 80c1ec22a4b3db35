// Whether the cuts of fuzzy numbers contain on a device what they have to.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/bench/fuzzy/containment_sizes.cuh"
#include "heddle/kernels/template_source.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle::bench {

/// The operations, in the order of their numbers.
inline constexpr std::array<std::string_view, kOperations> kOperationNames{
    "a + b",     "a - b",     "a * b", "a / b", "a * b + c", "sqrt(a)",     "exp(a)",          "log(a)",          "a^2",
    "min(a, b)", "max(a, b)", "-a",    "a^3",   "a^-2",      "a converted", "fused a * b + c", "series a * b + c"};

/// The numbers that are checked: either encoding of either type.
inline constexpr std::array<std::string_view, 4> kCheckedNumbers{
    "LowerUpper<float, 2>", "LowerUpper<double, 2>", "MidpointRadius<float, 2>", "MidpointRadius<double, 2>"};

struct Containment {
  std::string_view number;  ///< of kCheckedNumbers
  std::array<ContainmentCount, kOperations> operations{};

  [[nodiscard]] std::uint64_t wrong() const;  ///< of all operations
};

[[nodiscard]] const TemplateSource& containment_source();
/// Those of containment_source(), one for each of some numbers.
[[nodiscard]] Kernels containment_kernels(std::span<const std::string_view> numbers = kCheckedNumbers);
/// Checks so many random samples of each of these numbers, each with every operation; on a device that runs CUDA
/// templates. `source`: containment_source(), or a copy with a fault. Throws DeviceFailure, also with the compiler's
/// complaint.
[[nodiscard]] std::vector<Containment> check_containment(Device& device, std::int64_t samples, std::uint64_t seed,
                                                         const TemplateSource& source,
                                                         std::span<const std::string_view> numbers = kCheckedNumbers);

}  // namespace heddle::bench
