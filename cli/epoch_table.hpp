// The reports of `heddle train` about epochs, for people.
#pragma once

#include <string>
#include <vector>

#include "heddle/runtime/train/trainer.hpp"

namespace heddle::cli {

/// Lines appear one by one while training goes on; the first has the titles above it.
class EpochTable {
 public:
  EpochTable(Task task, bool test, bool validation) : task_(task), test_(test), validation_(validation) {}

  [[nodiscard]] std::string line(const EpochReport& report);
  /// What came out, in one line.
  [[nodiscard]] std::string closing(const TrainingResult& result) const;

 private:
  [[nodiscard]] std::string value(const std::optional<Score>& score) const;

  Task task_;
  bool test_, validation_;
  bool headed_ = false;
  std::string last_mapping_;
};

}  // namespace heddle::cli
