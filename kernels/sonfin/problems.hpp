// Common to the SONFIN families: axes, the default grid of problems, and small helpers for buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/problem.hpp"

namespace heddle::sonfin {

[[nodiscard]] const std::vector<Axis>& problem_axes();
/// Sizes "rules", "dim", "outputs".
[[nodiscard]] Problem problem(std::int64_t rules, std::int64_t dim, std::int64_t outputs);
/// The grid of a first tuning run: wide on a GPU, where mappings differ most, and up to 5000 inputs; coarser elsewhere.
[[nodiscard]] std::vector<Problem> problem_grid(const DeviceIdentity& device);
[[nodiscard]] bool has_templates(std::string_view backend);
/// Capacities for a network that grows to at most `cap` rules: 32, 48, 64, 96, ... and `cap` itself. Powers of two and
/// their midpoints, so that at most a third of a rung is unused after the step to it; below 32 the time of a step is
/// all latency and smaller kernels gain nothing. Throws Error(usage) if cap < 1.
[[nodiscard]] std::vector<std::int64_t> rung_capacities(std::int64_t cap);

template <class T>
[[nodiscard]] std::vector<std::byte> bytes_of(const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}

}  // namespace heddle::sonfin
