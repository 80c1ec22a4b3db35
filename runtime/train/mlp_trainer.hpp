// Trains multilayer perceptrons.
#pragma once

#include "heddle/runtime/train/trainer.hpp"

namespace heddle {

[[nodiscard]] const Trainer& mlp_trainer();

}  // namespace heddle
