// A kernel that is described in a file: JSON beside the kernel's source (docs/formats.md).
#pragma once

#include <filesystem>

#include "heddle/kernels/own/kernel_definition.hpp"

namespace heddle {

struct KernelFileOptions {
  /// Whether the description may name sources that are not in its folder, or in one below.
  bool allow_outside = false;
  /// A second description with changes to the first (merge_description()); its sources may be beside it. Empty: none.
  std::filesystem::path with = {};
};

/// The definition in `file`: a description of heddle's own, or a T1 file (description_from_t1()). Its name is that of
/// the description, '@' and 12 hexadecimal digits of a digest of all that decides what the kernel computes: its source,
/// parameters, launch geometry, arguments and compile options. Two kernels of one name therefore have profiles of their
/// own.
///
/// Throws Error(input) with the file, the place in it and the cause: a file that cannot be read or is longer than
/// 1 MiB, sources longer than 4 MiB, what is no JSON, a member that is missing, unknown or of another kind, an
/// expression that cannot be read or asks for a name that nothing has, a name that comes twice, a source outside the
/// folder.
[[nodiscard]] KernelDefinition read_kernel_file(const std::filesystem::path& file,
                                                const KernelFileOptions& options = {});

}  // namespace heddle
