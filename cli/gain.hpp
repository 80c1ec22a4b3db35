// The comparison of `heddle train --compare`, for people and as JSON.
#pragma once

#include <string>

#include "heddle/cli/json.hpp"
#include "heddle/tuner/training_gain.hpp"

namespace heddle::cli {

/// Lines that end with a newline each; the last one says in words what the profiles gain.
[[nodiscard]] std::string gain_text(const TrainingGain& gain);
[[nodiscard]] Json to_json(const TrainingGain& gain);

}  // namespace heddle::cli
