// A trained network with all that is needed to use it, or to go on training it, on any device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/data/scaling.hpp"
#include "heddle/runtime/model/network.hpp"

namespace heddle {

/// One epoch of the past. What was not measured is absent.
struct EpochRecord {
  std::int64_t epoch = 0;                                    ///< from 1
  std::map<std::string, std::int64_t> counts;                ///< NetworkSize::counts at its end
  std::int64_t samples = 0;                                  ///< learnt in it
  double train_error = 0.0;                                  ///< mean E, each before its update
  std::optional<double> validation_error, validation_value;  ///< mean E; accuracy (0 to 1) or RMSE
  std::optional<double> test_error, test_value;
  double microseconds_per_sample = 0.0;
  bool operator==(const EpochRecord&) const = default;
};

/// The state of training, from which it can continue as if it had not been interrupted; what else that takes is part of
/// the network.
struct TrainingState {
  std::map<std::string, std::string> options;  ///< the trainer's options as they were set, by name
  std::int64_t epochs = 0;                     ///< finished
  std::int64_t position = 0;                   ///< samples learnt of the epoch after them
  double partial_loss = 0.0;                   ///< sum of E over those samples
  std::uint64_t seed = 0;
  std::string rows;             ///< a digest of the rows learnt and kept back; empty in files of before it
  std::int64_t best_epoch = 0;  ///< by validation error; 0: none
  double best_error = 0.0;      ///< validation error of best_epoch
  std::int64_t epochs_without_improvement = 0;
  std::vector<EpochRecord> history;
};

struct Model {
  Task task = Task::classify;
  AnyNetwork network;
  InputCoding coding;                     ///< of the columns of a text that become D inputs; none if all have numbers
  Scaling inputs;                         ///< D columns
  Scaling targets;                        ///< regress: L columns, zscore
  std::vector<std::string> classes;       ///< classify: L
  std::vector<std::string> input_names;   ///< D, or empty
  std::vector<std::string> target_names;  ///< regress: L, or empty
  TrainingState training;
  std::map<std::string, std::string> provenance;  ///< "tool", "device", "date", "data", ...: for people

  /// What the network's kind says of it, see NetworkKind.
  [[nodiscard]] std::string_view kind() const;
  [[nodiscard]] std::int64_t dim() const;
  [[nodiscard]] std::int64_t outputs() const;
  [[nodiscard]] NetworkSize size() const;
  [[nodiscard]] std::string unready() const;
  [[nodiscard]] double largest_input() const;

  [[nodiscard]] Expectation expectation() const;
};

/// Throws Error(input) that names the row of a dataset where the size of a scaled input is beyond `largest`, or where
/// float32 cannot hold a scaled target.
void check_rows(const Model& model, const Dataset& data, double largest);
/// Inputs of the model's network for the rows of a dataset, scaled, N x D. Throws Error(input) as check_rows() does,
/// and for rows of another number of inputs.
[[nodiscard]] std::vector<float> network_inputs(const Model& model, const Dataset& data);
/// Targets of a network for N rows of a labelled dataset, N x L: one-hot, or standardised by `model.targets`.
/// Throws Error(input) as check_rows() does.
[[nodiscard]] std::vector<float> network_targets(const Model& model, const Dataset& data);
/// The class of each row of N x L outputs: the largest, ties the lowest.
[[nodiscard]] std::vector<std::int32_t> predicted_classes(std::span<const float> outputs, std::int64_t classes);

/// Throws Error(input), the line beginning with `source`, unless sizes agree with each other and every number is
/// finite and in range: what a model file may contain. The network's kind checks its part.
void check(const Model& model, const std::string& source);

}  // namespace heddle
