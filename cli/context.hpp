// What the commands of the program share.
#pragma once

#include "heddle/kernels/family_registry.hpp"

namespace heddle::cli {

/// Made once by main(); lives longer than every command.
struct Context {
  FamilyRegistry families = builtin_families();
};

}  // namespace heddle::cli
