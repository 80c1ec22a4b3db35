// Models with something in every field.
#pragma once

#include <cmath>

#include "heddle/runtime/model/model.hpp"

namespace heddle {

/// Four rules, two inputs, three classes.
inline Model sample_classifier() {
  Model model;
  SonfinModel own;
  own.network = {
      2, 3, {0, 0.25F, 1, -1, 0.5F, 2, 3, 4}, {1, 2, 0.5F, 4, 1, 1, 1, 8}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 0.5F, 0, 0}};
  own.hyperparameters.step = sonfin::Step::plain;
  own.hyperparameters.width = sonfin::Width::squared;
  own.hyperparameters.first_width = 1.25;
  own.hyperparameters.max_rules = 9;
  own.log_threshold = -INFINITY;
  own.last = sonfin::Network{2, 3, {7, 8}, {1, 1}, {0, 0, 1}};
  model.network = own;
  model.inputs = {Scale::minmax, {-1.5, 0.1}, {0.25, 0.0}};
  model.classes = {"yes", "no", "perhaps; \"not\" \xc3\xa9"};
  model.input_names = {"length", "width"};
  TrainingState& t = model.training;
  t.options = {{"epochs", "10"}, {"max-rules", "9"}};
  t.epochs = 3;
  t.position = 17;
  t.partial_loss = 2.5;
  t.seed = 0xfedcba9876543210;
  t.best_epoch = 2;
  t.best_error = 0.125;
  t.epochs_without_improvement = 1;
  t.history = {{1, {{"rules", 3}}, 100, 0.5, {}, {}, {}, {}, 1.5},
               {2, {{"rules", 4}}, 100, 0.25, 0.3, 0.9, 0.4, 0.8, 1.25}};
  model.provenance = {{"tool", "heddle 0.1.0"}, {"device", "cpu"}};
  return model;
}

/// No rule yet, two inputs, one target.
inline Model sample_regression() {
  Model model;
  model.task = Task::regress;
  SonfinModel own = SonfinModel::untaught(2, 1);
  own.log_threshold = -0.5;
  model.network = own;
  model.inputs = {Scale::none, {0, 0}, {1, 1}};
  model.targets = {Scale::zscore, {0}, {0.5}};
  model.target_names = {"price"};
  return model;
}

/// Two rules with linear consequents, one input, two targets.
inline Model sample_system() {
  Model model;
  model.task = Task::regress;
  TskModel own;
  own.system = {1, 2, 1, {0.25F, 0.75F}, {0.5F, 0.125F}, {1, 2, 3, 4, 5, 6, 7, 8}};
  own.last = tsk::System{1, 2, 1, {0.375F, 0.625F}, {0.25F, 1}, {8, 7, 6, 5, 4, 3, 2, 1}};
  own.antecedents = {0.375000001, 0.625, 0.25, 0.999999999};
  own.adaptation = {.step = 0.02, .grown = 3, .shrunk = 2, .ridges = 1, .recent = {5, 4, 3, 2, 1}};
  model.network = own;
  model.inputs = {Scale::zscore, {3}, {0.5}};
  model.targets = {Scale::zscore, {0, 1}, {0.5, 2}};
  model.target_names = {"price", "weight"};
  model.training.options = {{"sets", "2"}};
  model.training.epochs = 3;
  model.training.best_epoch = 2;
  model.training.best_error = 0.5;
  model.training.history = {{1, {{"rules", 2}}, 10, 0.5, {}, {}, {}, {}, 1.5}};
  return model;
}

/// Layers 2-2-1 in the middle of an epoch.
inline Model sample_perceptron() {
  Model model;
  model.task = Task::regress;
  MlpModel own;
  own.layers = mlp::layers(2, std::vector<std::int64_t>{2}, 1);
  own.hidden = mlp::kTanh;
  own.output = mlp::kSigmoid;
  own.parameters = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  own.last = MlpModel::Learning{.parameters = {9, 8, 7, 6, 5, 4, 3, 2, 1},
                                .state = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8},
                                .progress = {.steps = 40,
                                             .epoch = 3,
                                             .position = 17,
                                             .halted = 0,
                                             .restores = 1,
                                             .squares = 2.5,
                                             .best = 0.125,
                                             .beta1_power = 0.1,
                                             .beta2_power = 0.987654321}};
  model.network = own;
  model.inputs = {Scale::unit, {0, 0}, {0.5, 0.5}};
  model.targets = {Scale::minmax, {1}, {0.5}};
  model.training.options = {{"layers", "2"}};
  model.training.epochs = 3;
  model.training.position = 17;
  return model;
}

}  // namespace heddle
