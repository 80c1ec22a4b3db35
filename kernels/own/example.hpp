// The contents of the buffers with which a defined kernel is measured: random, or those of an example in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"

namespace heddle {

/// Whether a buffer has contents before the kernel runs: all but outputs and scratch.
[[nodiscard]] bool has_contents(const Buffer& buffer);

/// Random numbers of `type`: from -1 to 1, whole ones from 0 to 9. Bytes behind the last whole number are 0.
[[nodiscard]] std::vector<std::byte> seeded_numbers(ElementType type, std::int64_t bytes, std::mt19937_64& random);

/// The contents that save_example() wrote for `problem`. Throws Error(input) if there are none of these sizes.
[[nodiscard]] HostImage saved_example(const std::string& folder, const Problem& problem,
                                      const std::vector<Buffer>& buffers);

}  // namespace heddle
