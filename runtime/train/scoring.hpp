// Predictions of a model for rows, and their scores.
#pragma once

#include <span>
#include <vector>

#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/model/model.hpp"
#include "heddle/runtime/train/predictor.hpp"

namespace heddle {

/// How well a model does on rows it was not taught with.
struct Score {
  double error = 0.0;  ///< mean E, as docs/design.md writes it (regression: in standardised units)
  double value = 0.0;  ///< classification: accuracy, 0 to 1; regression: RMSE over all outputs in the data's units
};

/// Outputs N x L of the model's network for the rows of `data`, in the file's own units. predicted_classes() or
/// Model::targets.invert() turn them into what the user asked for. Throws Error(input) if the inputs do not fit.
[[nodiscard]] std::vector<float> predict(Predictor& predictor, const Model& model, const Dataset& data);

/// `outputs`: what predict() returned for `data`, which has labels.
[[nodiscard]] Score score(const Model& model, const Dataset& data, std::span<const float> outputs);

}  // namespace heddle
