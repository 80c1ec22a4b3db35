// The weights that heddle brings along for devices of which nothing is known: profiles/shipped/.
#pragma once

#include <vector>

#include "heddle/profiles/fitted_model.hpp"

namespace heddle {

/// False if the environment says HEDDLE_SHIPPED_WEIGHTS=none, to see what a card comes to by itself. Throws
/// Error(usage) for another word there.
[[nodiscard]] bool shipped_models_wanted();

/// One for a family and a backend at most. Read from the embedded files, each of which 'heddle profiles import' takes,
/// too; their remarks and provenances say what the weights were fitted to. None if they are not wanted; throws what
/// shipped_models_wanted() throws.
[[nodiscard]] const std::vector<FittedModel>& shipped_models();

}  // namespace heddle
