// The options of the trainer of multilayer perceptrons, and what kernels make of them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "heddle/kernels/mlp/network.hpp"
#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/train/options.hpp"

namespace heddle {

[[nodiscard]] const std::vector<Option>& mlp_options();

/// Sets what depends on other options or on the task and was left to heddle: afterwards every option has the value that
/// is used. `asked`: as the user set them;
/// `ranges_declared`: the data says the smallest and largest of what is to be predicted. Throws Error(usage) for an
/// option that has no meaning with the others.
void resolve_mlp_options(OptionValues& options, const OptionValues& asked, Task task, bool ranges_declared = false);

[[nodiscard]] mlp::Rule rule_of(const OptionValues& options);
/// Of resolved options, for this many rows learnt and outputs. The end is not set.
[[nodiscard]] mlp::Control mlp_control(const OptionValues& options, std::int64_t rows, std::int64_t outputs);
/// Of resolved options. Throws Error(usage) for more layers or weights than there may be.
[[nodiscard]] mlp::Layers mlp_layers(const OptionValues& options, std::int64_t dim, std::int64_t outputs);
/// The weights that training begins with, of resolved options: drawn by the seed.
[[nodiscard]] std::vector<float> first_weights(const OptionValues& options, const mlp::Layers& layers);

}  // namespace heddle
