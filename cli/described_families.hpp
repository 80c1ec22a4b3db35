// Options that describe kernel families: files of kernels, formulas over fuzzy numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heddle/cli/command.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/fuzzy/problem.hpp"

namespace heddle::cli {

struct DescribedFamilies {
  std::vector<std::string> names;           ///< of the families described, in the order of the command line
  std::vector<std::string> files;           ///< that describe them
  std::optional<fuzzy::Encoding> encoding;  ///< of formulas; nothing: both
  bool allow_outside = false;               ///< KernelFileOptions
  std::string with;                         ///< KernelFileOptions
};

/// Throws Error(usage) for changes to one description where there are none or several.
void check(const DescribedFamilies& described);

/// --allow-outside, --with, --kernel, --encoding and --formula. What they describe is added to `families`, which has to
/// live until the action has run. Options about the families' sizes have to be declared behind these, as options are
/// read in the order in which they are declared.
void add_described_families(Command& command, DescribedFamilies& described, FamilyRegistry& families);

}  // namespace heddle::cli
