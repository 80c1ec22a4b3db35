// The present environment of a device.
#pragma once

#include "heddle/profiles/environment.hpp"
#include "heddle/tuner/evaluator.hpp"

namespace heddle {

/// Driver, compiler and clocks as they are now. `busy`: runs a kernel for a moment to read the clocks, because an idle
/// device lowers them; without it the clocks stay empty.
[[nodiscard]] Environment present_environment(Evaluator& evaluator, const Problem& problem, bool busy);

}  // namespace heddle
