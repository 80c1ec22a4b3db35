// Takagi-Sugeno-Kang systems by batch least squares and gradient, docs/design.md, "Batch least squares and gradient".
#pragma once

#include "heddle/runtime/train/trainer.hpp"

namespace heddle {

[[nodiscard]] const Trainer& tsk_trainer();

}  // namespace heddle
