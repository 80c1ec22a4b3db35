// A trained network with all that is needed to use it, or to go on training it, on any device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heddle/kernels/sonfin/network.hpp"
#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/data/scaling.hpp"

namespace heddle {

/// One epoch of the past. What was not measured is absent.
struct EpochRecord {
  std::int64_t epoch = 0;                                    ///< from 1
  std::int64_t rules = 0;                                    ///< at its end
  std::int64_t samples = 0;                                  ///< learnt in it
  double train_error = 0.0;                                  ///< mean E, each before its update
  std::optional<double> validation_error, validation_value;  ///< mean E; accuracy (0 to 1) or RMSE
  std::optional<double> test_error, test_value;
  double microseconds_per_sample = 0.0;
  bool operator==(const EpochRecord&) const = default;
};

/// The state of training, from which it can continue as if it had not been interrupted.
struct TrainingState {
  std::string trainer;                         ///< "sonfin"
  std::map<std::string, std::string> options;  ///< the trainer's options as they were set, by name
  std::int64_t epochs = 0;                     ///< finished
  std::int64_t position = 0;                   ///< samples learnt of the epoch after them
  double partial_loss = 0.0;                   ///< sum of E over those samples
  std::uint64_t seed = 0;
  double log_threshold = 0.0;   ///< log mu_th of the epoch to come
  std::int64_t best_epoch = 0;  ///< by validation error; 0: none
  double best_error = 0.0;      ///< validation error of best_epoch
  std::int64_t epochs_without_improvement = 0;
  std::map<std::string, double> numbers;  ///< what else the trainer goes on with, by name
  std::optional<sonfin::Network> last;    ///< training goes on from here if the model is an earlier, better one
  /// Centres, then standard deviations of `last`, 2 x R x D, where training keeps more of them than float32; or empty.
  std::vector<double> antecedents;
  std::vector<EpochRecord> history;
};

struct Model {
  Task task = Task::classify;
  sonfin::Network network;
  sonfin::Hyperparameters hyperparameters;
  Scaling inputs;                         ///< D columns
  Scaling targets;                        ///< regress: L columns, zscore
  std::vector<std::string> classes;       ///< classify: L
  std::vector<std::string> input_names;   ///< D, or empty
  std::vector<std::string> target_names;  ///< regress: L, or empty
  TrainingState training;
  std::map<std::string, std::string> provenance;  ///< "tool", "device", "date", "data", ...: for people

  [[nodiscard]] Expectation expectation() const;
};

/// The range that float32 can hold: with widths and centres beyond these, squares and products of them are infinite or
/// 0, and so are sums of larger consequents over rules.
inline constexpr double kLeastWidth = 1e-19, kLargestAntecedent = 1e19, kLargestConsequent = 1e30;
/// The largest size of inputs and centres, in scaled units, for which the log firing of a rule stays finite in float32:
/// D ((x - m) / sigma)^2 is at most 1e37 where no width is below `least_width`.
[[nodiscard]] double largest_input(double least_width, std::int64_t dim);
/// Why a network cannot be used, "1e+20 at width 3, expected ..."; empty if its sizes agree with each other, all its
/// numbers are finite and float32 holds what is computed from them.
[[nodiscard]] std::string fault(const sonfin::Network& network);

/// The smallest width of a network; of one without rules the largest that there can be.
[[nodiscard]] double least_width(const sonfin::Network& network);

/// Throws Error(input) that names the row of a dataset where float32 cannot hold the distance to a rule, or a scaled
/// target. `least`: below which no width of the network is or will be.
void check_rows(const Model& model, const Dataset& data, double least);
/// Inputs of the model's network for the rows of a dataset, scaled, N x D. Throws Error(input) as check_rows() does.
[[nodiscard]] std::vector<float> network_inputs(const Model& model, const Dataset& data);
/// Targets of a network for N rows of a labelled dataset, N x L: one-hot, or standardised by `model.targets`.
/// Throws Error(input) as check_rows() does.
[[nodiscard]] std::vector<float> network_targets(const Model& model, const Dataset& data);
/// The class of each row of N x L outputs: the largest, ties the lowest.
[[nodiscard]] std::vector<std::int32_t> predicted_classes(std::span<const float> outputs, std::int64_t classes);

/// Throws Error(input), the line beginning with `source`, unless sizes agree with each other and every number is
/// finite and in range: what a model file may contain.
void check(const Model& model, const std::string& source);

}  // namespace heddle
