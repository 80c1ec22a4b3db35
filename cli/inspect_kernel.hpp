// heddle inspect, for the description of a kernel: how it was understood.
#pragma once

#include <string>
#include <vector>

#include "heddle/cli/context.hpp"
#include "heddle/cli/options.hpp"

namespace heddle::cli {

struct KernelInspection {
  std::vector<std::string> sizes;  ///< "n=1000" each
  std::string device;              ///< label; empty: the best one that can run the kernel
  bool allow_outside = false;
  std::string with;    ///< a second description, with changes to the first; empty: none
  bool named = false;  ///< whether sizes or a device were named
};

/// Whether the file begins as JSON does. False for one that cannot be read.
[[nodiscard]] bool is_kernel_description(const std::string& file);

/// Prints what the description says, or a document. Returns the exit code. Throws Error: the description is wrong, or
/// cannot be tuned at this size.
int inspect_kernel(const Context& context, const std::string& file, const KernelInspection& options,
                   const Common& common);

}  // namespace heddle::cli
