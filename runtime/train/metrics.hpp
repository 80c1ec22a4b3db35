// How good predictions are, class by class and output by output.
#pragma once

#include <cstdint>
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

/// What a network says of N rows, in the data's words and units.
struct Answers {
  std::vector<std::int32_t> classes;  ///< classify: N
  std::vector<float> values;          ///< regress: N x targets of a row
};
/// `outputs`: what predict() returned.
[[nodiscard]] Answers answers_of(const Model& model, std::span<const float> outputs);

/// Of several sets together, each with its answers; at least one. They have labels, and agree in classes or targets.
[[nodiscard]] Metrics metrics(std::span<const Dataset> sets, std::span<const Answers> answers);

/// `outputs`: what predict() returned for `data`, which has labels.
[[nodiscard]] Metrics metrics(const Model& model, const Dataset& data, std::span<const float> outputs);

}  // namespace heddle
