// Arrays of numbers in files: what a buffer holds before a kernel runs, or what is expected in it afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "heddle/kernels/own/element_type.hpp"

namespace heddle {

/// The `bytes` bytes of numbers of `type` in a file. One that begins as NumPy's .npy does has to say that it holds such
/// numbers, little-endian and row after row; its shape may be any. Anything else is taken as the bare bytes.
///
/// Throws Error(input) for a file that cannot be read, one of another length, and an .npy file of another type or
/// order.
[[nodiscard]] std::vector<std::byte> read_array(const std::filesystem::path& file, ElementType type,
                                                std::int64_t bytes);

}  // namespace heddle
