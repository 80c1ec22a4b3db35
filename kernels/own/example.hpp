// The contents of the buffers with which a defined kernel is measured: random, or those of an example in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"

namespace heddle {

/// Whether a buffer has contents before the kernel runs: all but outputs and scratch.
[[nodiscard]] bool has_contents(const Buffer& buffer);

/// Contents of buffers that lie elsewhere, by name.
using ViewedImage = std::map<std::string, std::span<const std::byte>, std::less<>>;

/// save_example() for these buffers.
void save_example(const std::string& folder, const Problem& problem, const std::vector<Buffer>& buffers,
                  const ViewedImage& contents);
void save_example(const std::string& folder, const Problem& problem, const std::vector<Buffer>& buffers,
                  const HostImage& contents);

/// The contents that save_example() wrote for `problem`. Throws Error(input) if there are none of these sizes.
[[nodiscard]] HostImage saved_example(const std::string& folder, const Problem& problem,
                                      const std::vector<Buffer>& buffers);

}  // namespace heddle
