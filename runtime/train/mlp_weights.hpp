// Weights of a multilayer perceptron as text: a line for each neuron, layer after layer, its bias first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/runtime/model/mlp_model.hpp"

namespace heddle {

/// Numbers have 9 digits, so that they read back as the same; a line "# layer 1: ..." comes before each layer. The
/// network has weights.
[[nodiscard]] std::string weights_text(const MlpModel& network);

/// Weights for `layers` from such a text, in the layout of mlp::Layers; lines that begin with # are comments. Throws
/// Error(input), the line beginning with `source`, with the place of what is no number, and for the weights of a
/// network with other layers.
[[nodiscard]] std::vector<float> read_weights(std::string_view text, const std::string& source,
                                              const mlp::Layers& layers);

}  // namespace heddle
