#include "heddle/runtime/train/training_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;

Json number_or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(); }

Json score_document(const std::optional<Score>& score, Task task) {
  if (!score) return {};
  return {{"error", score->error}, {task == Task::classify ? "accuracy" : "rmse", score->value}};
}

Json score_document(const std::optional<double>& error, const std::optional<double>& value, Task task) {
  if (!error) return {};
  return {{"error", *error}, {task == Task::classify ? "accuracy" : "rmse", number_or_null(value)}};
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

Json epoch_document(const EpochReport& report, Task task) {
  Json mappings = Json::array();
  for (const MappingUse& use : report.mappings) {
    mappings.push_back({{"capacity", use.capacity},
                        {"problem", use.problem},
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

Json epoch_document(const EpochRecord& record, Task task) {
  Json json{{"epoch", record.epoch}};
  for (const auto& [name, count] : record.counts) json[name] = count;
  json.update({{"samples", record.samples},
               {"train_error", record.train_error},
               {"validation", score_document(record.validation_error, record.validation_value, task)},
               {"test", score_document(record.test_error, record.test_value, task)},
               {"microseconds_per_sample", record.microseconds_per_sample}});
  return json;
}

void add_counts(Json& object, const NetworkSize& size) {
  for (const auto& [name, count] : size.counts) object[name] = count;
}

Json data_document(const Dataset& train, const Dataset* test) {
  return {{"train", train.source},
          {"train_rows", train.rows()},
          {"test", test != nullptr ? Json(test->source) : Json()},
          {"test_rows", test != nullptr ? Json(test->rows()) : Json()},
          {"dim", train.dim},
          {"outputs", train.outputs()},
          {"task", train.task == Task::classify ? "classify" : "regress"}};
}

Json metrics_document(const Metrics& metrics, const std::string& source) {
  Json all{{"data", source}, {"rows", metrics.rows}};
  if (!metrics.targets.empty()) {
    Json& targets = all["outputs"] = Json::array();
    for (const TargetMetrics& each : metrics.targets) {
      targets.push_back({{"name", each.name}, {"rmse", each.rmse}, {"r2", number_or_null(each.r2)}});
    }
    return all;
  }
  all["accuracy"] = metrics.accuracy;
  all["mean_f1"] = number_or_null(metrics.macro_f1);
  Json& classes = all["classes"] = Json::array();
  for (const ClassMetrics& each : metrics.classes) {
    classes.push_back({{"name", each.name},
                       {"rows", each.rows},
                       {"precision", number_or_null(each.precision)},
                       {"recall", number_or_null(each.recall)},
                       {"f1", number_or_null(each.f1)}});
  }
  const std::size_t count = metrics.classes.size();
  Json& confusion = all["confusion"] = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    const auto row = metrics.confusion.begin() + static_cast<std::ptrdiff_t>(i * count);
    confusion.push_back(std::vector<std::int64_t>(row, row + static_cast<std::ptrdiff_t>(count)));
  }
  return all;
}

Json options_document(const OptionValues& options) {
  Json json = Json::object();
  for (const Option& option : options.declared()) {
    switch (option.kind) {
      case Option::Kind::flag:
        json[option.name] = options.flag(option.name);
        break;
      case Option::Kind::integer:
        json[option.name] = options.integer(option.name);
        break;
      case Option::Kind::integers:
        json[option.name] = options.integers(option.name);
        break;
      case Option::Kind::number:
        json[option.name] = options.number(option.name);
        break;
      case Option::Kind::choice:
        json[option.name] = options.word(option.name);
        break;
    }
  }
  return json;
}

Json input_ranges(const Dataset& data) {
  constexpr std::int64_t kMostInputs = 1000;
  if (data.dim > kMostInputs) return {};
  const auto dim = static_cast<std::size_t>(data.dim);
  const std::span<const float> values = data.values();
  if (values.empty()) return {};
  std::vector<float> least(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(dim)), most = least;
  for (std::size_t i = 0; i < values.size(); ++i) {
    least[i % dim] = std::min(least[i % dim], values[i]);
    most[i % dim] = std::max(most[i % dim], values[i]);
  }
  Json inputs = Json::array();
  for (std::size_t j = 0; j < dim; ++j) {
    inputs.push_back({{"name", data.input_names.empty() ? fmt::format("input {}", j + 1) : data.input_names[j]},
                      {"minimum", least[j]},
                      {"maximum", most[j]}});
  }
  return inputs;
}

}  // namespace heddle
