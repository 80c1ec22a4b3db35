// The contents of the buffers with which a defined kernel is measured: random, or those of an example in a file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"

namespace heddle {

/// Whether a buffer has contents before the kernel runs: all but outputs and scratch.
[[nodiscard]] bool has_contents(const Buffer& buffer);

/// The file in `folder` with the contents for `problem`.
[[nodiscard]] std::filesystem::path example_file(const std::string& folder, const Problem& problem);

/// The contents of an example in the order in which they lie in its file. Throws Error(input) if a buffer is missing or
/// has another size.
[[nodiscard]] std::vector<std::span<const std::byte>> example_parts(const Problem& problem,
                                                                    const std::vector<Buffer>& buffers,
                                                                    const ViewedImage& contents);

/// save_example() for these buffers.
void save_example(const std::string& folder, const Problem& problem, const std::vector<Buffer>& buffers,
                  const HostImage& contents);

/// The contents in example_file(), which is mapped: whoever views them reads the file at most once, and copies nothing.
/// The file must not change any more. Throws Error(input) if there are none of these sizes.
[[nodiscard]] SharedImage saved_example(const std::string& folder, const Problem& problem,
                                        const std::vector<Buffer>& buffers);

}  // namespace heddle
