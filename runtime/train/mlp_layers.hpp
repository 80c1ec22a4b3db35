// What the layers of a perceptron say, one by one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/runtime/model/model.hpp"

namespace heddle {

/// The first `layers` layers (1 to all) of a perceptron as a model with an output for each of the last one's neurons,
/// which are told as they are, named "neuron_1", .... Throws Error(usage) for a network without layers or another
/// number; `source` is what its message calls the model.
[[nodiscard]] Model first_layers(const Model& model, std::int64_t layers, const std::string& source);

/// Outputs N x L of a perceptron whose neurons, those of the output too, give 1 where their sum is above 0, and else 0:
/// the second activation of Gurgel 2014. Its layers run one after the other on the device. Throws Error(usage) for
/// another network, and Error(input) if the inputs do not fit.
[[nodiscard]] std::vector<float> threshold_outputs(Device& device, const Knowledge& known, const Model& model,
                                                   const Dataset& data, const Notice& notice,
                                                   const std::string& source);

}  // namespace heddle
