// What there is to measure with now.
#pragma once

#include "heddle/profiles/environment.hpp"
#include "heddle/tuner/evaluator.hpp"

namespace heddle {

/// As it is now. `busy`: run a kernel for a moment, since an idle device lowers its clocks; otherwise they stay empty.
[[nodiscard]] Environment present_environment(Evaluator& evaluator, const Problem& problem, bool busy);

}  // namespace heddle
