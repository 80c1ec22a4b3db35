// How good predictions are, class by class and output by output.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heddle/runtime/data/dataset.hpp"
#include "heddle/runtime/model/model.hpp"

namespace heddle {

/// Of one class: what is undefined (precision of a class never predicted) is absent.
struct ClassMetrics {
  std::string name;
  std::int64_t rows = 0;                        ///< that are of it
  std::optional<double> precision, recall, f1;  ///< 0 to 1
};

/// Of one number that is predicted, in the data's own units.
struct TargetMetrics {
  std::string name;  ///< as in the header, or "output_1"
  double rmse = 0.0;
  std::optional<double> r2;  ///< 1 - squared errors / squared deviations from the mean; absent where nothing deviates
};

struct Metrics {
  std::int64_t rows = 0;
  // Classification.
  double accuracy = 0.0;                ///< 0 to 1
  std::vector<std::int64_t> confusion;  ///< L x L: rows of class i (row) that are predicted as j (column)
  std::vector<ClassMetrics> classes;    ///< in the model's order
  std::optional<double> macro_f1;       ///< mean over the classes that have one
  // Regression.
  std::vector<TargetMetrics> targets;
};

/// Metrics of rows that come in several sets, as the folds of a cross-validation do. The memory and the time of
/// metrics() do not depend on how many rows there were.
class RunningMetrics {
 public:
  /// `outputs`: what predict() returned for `data`, which has labels. All sets agree in their classes or targets.
  void add(const Model& model, const Dataset& data, std::span<const float> outputs);
  /// Of all rows so far; at least one.
  [[nodiscard]] Metrics metrics() const;

 private:
  /// Of one number that is predicted.
  struct TargetSums {
    double mean = 0.0, deviations = 0.0;  ///< of the target; the squares of what it deviates from the mean
    double smallest = std::numeric_limits<double>::infinity(), largest = -std::numeric_limits<double>::infinity();
    double squares = 0.0;  ///< of the errors
  };
  void add_classes(const Model& model, const Dataset& data, std::span<const float> outputs);
  void add_targets(const Model& model, const Dataset& data, std::span<const float> outputs);
  void measure_classes(Metrics& found) const;
  void measure_targets(Metrics& found) const;

  std::int64_t rows_ = 0;
  std::vector<std::string> names_;  ///< of the classes; of the targets, if the data has any
  std::vector<std::int64_t> confusion_;
  std::vector<TargetSums> targets_;
};

/// `outputs`: what predict() returned for `data`, which has labels.
[[nodiscard]] Metrics metrics(const Model& model, const Dataset& data, std::span<const float> outputs);

}  // namespace heddle
