// Online training of a self-constructing neural fuzzy network, docs/design.md, "The network",.
#pragma once

#include "heddle/runtime/train/trainer.hpp"

namespace heddle {

[[nodiscard]] const Trainer& sonfin_trainer();

}  // namespace heddle
