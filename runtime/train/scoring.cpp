#include "heddle/runtime/train/scoring.hpp"

#include <cmath>
#include <cstddef>

namespace heddle {

std::vector<float> predict(Predictor& predictor, const Model& model, const Dataset& data) {
  return predictor.predict(model.network, network_inputs(model, data));
}

Score score(const Model& model, const Dataset& data, std::span<const float> outputs) {
  const std::vector<float> targets = network_targets(model, data);
  const double rows = static_cast<double>(data.rows());
  Score result;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const double error = static_cast<double>(outputs[i]) - static_cast<double>(targets[i]);
    result.error += 0.5 * error * error;
  }
  result.error /= rows;

  if (data.task == Task::classify) {
    const std::vector<std::int32_t> classes = predicted_classes(outputs, data.outputs());
    std::int64_t hits = 0;
    for (std::size_t i = 0; i < classes.size(); ++i) hits += classes[i] == data.labels[i] ? 1 : 0;
    result.value = static_cast<double>(hits) / rows;
  } else {
    const std::vector<float> values = model.targets.invert(outputs);
    double squares = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = static_cast<double>(values[i]) - static_cast<double>(data.targets[i]);
      squares += error * error;
    }
    result.value = std::sqrt(squares / static_cast<double>(values.size()));
  }
  return result;
}

}  // namespace heddle
