// Metrics of predictions as tables for people and as a document.
#pragma once

#include <string>

#include "heddle/cli/json.hpp"
#include "heddle/runtime/train/metrics.hpp"

namespace heddle::cli {

/// A line about the whole, the metrics of each class or output, and the confusion matrix; that of more than 32 classes
/// is left out. `source`: of the rows.
[[nodiscard]] std::string metrics_text(const Metrics& metrics, const std::string& source);
[[nodiscard]] Json metrics_document(const Metrics& metrics, const std::string& source);

}  // namespace heddle::cli
