#include "heddle/cli/epoch_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "heddle/cli/output.hpp"

namespace heddle::cli {
namespace {

Json score_document(const std::optional<Score>& score, Task task) {
  if (!score) return {};
  return {{"error", score->error}, {task == Task::classify ? "accuracy" : "rmse", score->value}};
}

}  // namespace

double microseconds_per_sample(const std::vector<EpochReport>& epochs) {
  double microseconds = 0.0, samples = 0.0;
  for (const EpochReport& report : epochs) {
    microseconds += report.microseconds_per_sample * static_cast<double>(report.samples);
    samples += static_cast<double>(report.samples);
  }
  return samples > 0 ? microseconds / samples : 0.0;
}

Json to_json(const EpochReport& report, Task task) {
  Json mappings = Json::array();
  for (const MappingUse& use : report.mappings) {
    mappings.push_back({{"capacity", use.capacity},
                        {"configuration", use.configuration},
                        {"tier", text(use.tier)},
                        {"samples", use.samples},
                        {"microseconds_per_sample", use.microseconds_per_sample},
                        {"promised_microseconds_per_sample", use.promised ? Json(*use.promised) : Json()}});
  }
  Json json;
  json["epoch"] = report.epoch;
  add_counts(json, report.size);
  json.update({{"samples", report.samples},
               {"train_error", report.train_error},
               {"validation", score_document(report.validation, task)},
               {"test", score_document(report.test, task)},
               {"microseconds_per_sample", report.microseconds_per_sample},
               {"seconds", report.seconds},
               {"mappings", mappings}});
  return json;
}

void add_counts(Json& object, const NetworkSize& size) {
  for (const auto& [name, count] : size.counts) object[name] = count;
}

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
      text += fmt::format(" after {} smaller one{}", others, others == 1 ? "" : "s");
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
