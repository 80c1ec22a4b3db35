// The reports of `heddle train` about epochs, for people and as JSON.
#pragma once

#include <string>
#include <vector>

#include "heddle/cli/json.hpp"
#include "heddle/runtime/train/trainer.hpp"

namespace heddle::cli {

/// Over all samples of all epochs; 0 if there were none.
[[nodiscard]] double microseconds_per_sample(const std::vector<EpochReport>& epochs);
[[nodiscard]] Json to_json(const EpochReport& report, Task task);
/// A member for each count of a network's size.
void add_counts(Json& object, const NetworkSize& size);

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
