#include "heddle/cli/epoch_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "heddle/cli/output.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/runtime/train/training_document.hpp"

namespace heddle::cli {
std::string EpochTable::value(const std::optional<Score>& score) const {
  if (!score) return "-";
  return task_ == Task::classify ? fmt::format("{:.2f} %", 100 * score->value) : fmt::format("{:.5g}", score->value);
}

std::string EpochTable::line(const EpochReport& report) {
  const char* const measure = task_ == Task::classify ? "accuracy" : "RMSE";
  std::string text;
  if (!headed_) {
    text = "epoch";
    for (const auto& [name, count] : report.size.counts) text += fmt::format("  {:>5}", name);
    text += "  train error";
    if (validation_) text += fmt::format("  {:>19}", fmt::format("validation {}", measure));
    if (test_) text += fmt::format("  {:>13}", fmt::format("test {}", measure));
    text += "  us/sample  mapping\n";
    headed_ = true;
  }
  text += fmt::format("{:>5}", report.epoch);
  for (const auto& [name, count] : report.size.counts) {
    text += fmt::format("  {:>{}}", count, std::max<std::size_t>(name.size(), 5));
  }
  text += fmt::format("  {:>11.5f}", report.train_error);
  if (validation_) text += fmt::format("  {:>19}", value(report.validation));
  if (test_) text += fmt::format("  {:>13}", value(report.test));
  text += fmt::format("  {:>9}", short_number(report.microseconds_per_sample));
  if (!report.mappings.empty()) {
    const MappingUse& last = report.mappings.back();
    const std::string mapping = fmt::format("{} ({})", last.configuration, heddle::text(last.tier));
    text += "  " + (mapping == last_mapping_ ? "as above" : mapping);
    last_mapping_ = mapping;
    if (const std::size_t others = report.mappings.size() - 1; others > 0) {
      text += " after " + counted(others, "smaller one");
    }
  }
  return text + "\n";
}

std::string EpochTable::closing(const TrainingResult& result) const {
  const std::vector<EpochReport>& epochs = result.epochs;
  std::string text = fmt::format("\n{}", result.model.size().text);
  if (result.test)
    text += fmt::format(", test {} {}", task_ == Task::classify ? "accuracy" : "RMSE", value(result.test));
  return text + fmt::format(", {} us per sample\n", short_number(microseconds_per_sample(epochs)));
}

}  // namespace heddle::cli
