// Models with something in every field.
#pragma once

#include <cmath>

#include "heddle/runtime/model/model.hpp"

namespace heddle {

/// Four rules, two inputs, three classes.
inline Model sample_classifier() {
  Model model;
  model.network = {
      2, 3, {0, 0.25F, 1, -1, 0.5F, 2, 3, 4}, {1, 2, 0.5F, 4, 1, 1, 1, 8}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 0.5F, 0, 0}};
  model.hyperparameters.step = sonfin::Step::plain;
  model.hyperparameters.width = sonfin::Width::squared;
  model.hyperparameters.first_width = 1.25;
  model.hyperparameters.max_rules = 9;
  model.inputs = {Scale::minmax, {-1.5, 0.1}, {0.25, 0.0}};
  model.classes = {"yes", "no", "perhaps; \"not\" \xc3\xa9"};
  model.input_names = {"length", "width"};
  TrainingState& t = model.training;
  t.trainer = "sonfin";
  t.options = {{"epochs", "10"}, {"max-rules", "9"}};
  t.epochs = 3;
  t.position = 17;
  t.partial_loss = 2.5;
  t.seed = 0xfedcba9876543210;
  t.log_threshold = -INFINITY;
  t.best_epoch = 2;
  t.best_error = 0.125;
  t.epochs_without_improvement = 1;
  t.last = sonfin::Network{2, 3, {7, 8}, {1, 1}, {0, 0, 1}};
  t.history = {{1, 3, 100, 0.5, {}, {}, {}, {}, 1.5}, {2, 4, 100, 0.25, 0.3, 0.9, 0.4, 0.8, 1.25}};
  model.provenance = {{"tool", "heddle 0.1.0"}, {"device", "cpu"}};
  return model;
}

/// No rule yet, two inputs, one target.
inline Model sample_regression() {
  Model model;
  model.task = Task::regress;
  model.network = {2, 1, {}, {}, {}};
  model.inputs = {Scale::none, {0, 0}, {1, 1}};
  model.targets = {Scale::zscore, {0}, {0.5}};
  model.target_names = {"price"};
  model.training.trainer = "sonfin";
  model.training.log_threshold = -0.5;
  return model;
}

}  // namespace heddle
