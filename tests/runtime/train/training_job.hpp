// What tests of trainers share: the CPU, a job from options as a user writes them, and the error of a model.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/train/trainer.hpp"

namespace heddle::test {

using Options = std::vector<std::pair<std::string, std::string>>;

inline Device& cpu() {
  static const std::unique_ptr<Device> device = open_device("cpu");
  return *device;
}

inline TrainingJob job(const Trainer& trainer, const Dataset& data, const Options& options) {
  TrainingJob result{.train = &data, .options = OptionValues(trainer.options())};
  for (const auto& [name, value] : options) result.options.set(name, value);
  return result;
}

/// Mean E of a model on these rows.
inline double error_on(const Model& model, const Dataset& rows) {
  const auto predictor = trainer(model.kind()).predictor(cpu(), {}, model.network, {});
  return score(model, rows, predict(*predictor, model, rows)).error;
}

}  // namespace heddle::test
