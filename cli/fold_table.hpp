// The reports of `heddle train --folds`, for people and as JSON.
#pragma once

#include <string>

#include "heddle/cli/json.hpp"
#include "heddle/runtime/train/cross_validation.hpp"

namespace heddle::cli {

/// Lines appear one by one while the folds are trained; the first has the titles above it.
class FoldTable {
 public:
  explicit FoldTable(Task task) : task_(task) {}

  [[nodiscard]] std::string line(const FoldResult& fold);
  /// Mean and spread, in one line.
  [[nodiscard]] std::string closing(const CrossValidation& all) const;

 private:
  Task task_;
  bool headed_ = false;
};

/// The members "folds", "mean", "spread" and "measure".
[[nodiscard]] Json folds_document(const CrossValidation& all, const Dataset& data);

}  // namespace heddle::cli
