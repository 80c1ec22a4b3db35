// Options of the trainers of all networks: how a command declares them, and what one of them makes of what was given.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "heddle/cli/command.hpp"
#include "heddle/runtime/train/trainer.hpp"

namespace heddle::cli {

/// Values by name, as the command line has them. Which trainer they are for is known only after all of it.
using GivenOptions = std::vector<std::pair<std::string, std::string>>;

/// Options that all trainers have come once, under the first of their meanings; the others under the name of the first
/// network that has them.
void add_trainer_options(Command& command, GivenOptions& given);

/// Throws Error(usage) for an option that `trainer` does not have, or a value that it does not take.
[[nodiscard]] OptionValues trainer_options(const Trainer& trainer, const GivenOptions& given);

}  // namespace heddle::cli
