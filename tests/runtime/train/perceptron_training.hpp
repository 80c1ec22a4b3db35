// What tests of the trainer of perceptrons share.
#pragma once

#include <variant>

#include "heddle/runtime/model/model.hpp"
#include "heddle/runtime/train/trainer.hpp"
#include "runtime/train/training_job.hpp"

namespace heddle::test {

inline const Trainer& perceptrons() { return trainer("mlp"); }

/// What training goes on from, begins with, and is scored on, if anything.
struct Given {
  const Model* resume = nullptr;
  const TrainingJob::Weights* weights = nullptr;
  const Dataset* test = nullptr;
};

inline TrainingResult train_mlp(const Dataset& data, const Options& options, const Given& given = {}) {
  TrainingJob what = job(perceptrons(), data, options);
  what.resume = given.resume;
  what.weights = given.weights;
  what.test = given.test;
  return perceptrons().train(cpu(), {}, what);
}

inline const MlpModel& mlp_of(const Model& model) { return std::get<MlpModel>(model.network); }

}  // namespace heddle::test
