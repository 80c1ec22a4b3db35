// A self-constructing neural fuzzy network and its options.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/kernels/sonfin/control.cuh"

namespace heddle::sonfin {

/// Parameters of R rules over D inputs with L outputs, row after row.
struct Network {
  std::int64_t dim = 0;            ///< D
  std::int64_t outputs = 0;        ///< L
  std::vector<float> centres;      ///< m, R x D
  std::vector<float> widths;       ///< sigma, R x D
  std::vector<float> consequents;  ///< w, R x L

  [[nodiscard]] std::int64_t rules() const { return dim == 0 ? 0 : static_cast<std::int64_t>(centres.size()) / dim; }
};

enum class Step { scaled, plain };
enum class Width { distance, squared };

/// Options of learning; the defaults are those of docs/design.md, "The network".
struct Hyperparameters {
  double consequent_rate = 0.3;
  double antecedent_rate = 0.15;
  double threshold = 0.5;  ///< mu_th
  double overlap = 0.6;    ///< beta
  double minimum_width = 0.001;
  double first_width = 0.0;  ///< width of the first rule before beta: sqrt of the summed input variances
  Step step = Step::scaled;
  Width width = Width::distance;
  std::int64_t max_rules = 500;
};

/// `end`: rows of `order` that a run may learn. A threshold of 0 never adds a rule beyond the first.
[[nodiscard]] Control control(const Hyperparameters& options, std::int64_t end);

}  // namespace heddle::sonfin
