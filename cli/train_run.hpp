// A run of `heddle train`: from the data to the model that is kept, or through the folds of a cross-validation, and
// what is said about it.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/cli/context.hpp"
#include "heddle/cli/data_options.hpp"
#include "heddle/cli/network_profiles.hpp"
#include "heddle/cli/options.hpp"
#include "heddle/cli/trainer_options.hpp"

namespace heddle::cli {

struct TrainOptions {
  Common common;
  std::string network;
  GivenOptions values;  ///< of the trainer
  DataArguments data;
  std::string train, test, test_label, resume, weights, device;
  NetworkProfiles profiles;
  std::int64_t folds = 0;  ///< of a cross-validation; 0: none
  std::string model = "model.heddle", log;
  bool compare = false, metrics = false, model_named = false;
};

/// Trains, and reports. Returns the exit code; throws Error.
int train(const Context& context, const TrainOptions& options);

}  // namespace heddle::cli
