// Metrics of predictions as tables for people.
#pragma once

#include <string>

#include "heddle/runtime/train/metrics.hpp"

namespace heddle::cli {

/// A line about the whole, the metrics of each class or output, and the confusion matrix; that of more than 32 classes
/// is left out. `source`: of the rows.
[[nodiscard]] std::string metrics_text(const Metrics& metrics, const std::string& source);

}  // namespace heddle::cli
