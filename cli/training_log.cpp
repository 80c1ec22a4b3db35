#include "heddle/cli/training_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "heddle/cli/epoch_table.hpp"
#include "heddle/cli/kept_elsewhere.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/runtime/device/provenance.hpp"
#include "heddle/runtime/model/description.hpp"

namespace heddle::cli {
namespace {

constexpr std::string_view kBeginning = R"({"format":"heddle training log",)";

/// More sets than these make no chart that anybody reads, and a line of tens of megabytes.
constexpr std::int64_t kMostSets = 20'000;

/// ASCII, as documents are.
std::string text_of(const Json& line) { return line.dump(-1, ' ', true, Json::error_handler_t::replace); }

Json score_document(const std::optional<double>& error, const std::optional<double>& value, Task task) {
  if (!error) return {};
  return {{"error", *error}, {task == Task::classify ? "accuracy" : "rmse", number_or_null(value)}};
}

/// An epoch between two reports. Its members are those of a reported one, as far as they are known.
Json to_json(const EpochRecord& record, Task task) {
  Json json{{"epoch", record.epoch}};
  for (const auto& [name, count] : record.counts) json[name] = count;
  json.update({{"samples", record.samples},
               {"train_error", record.train_error},
               {"validation", score_document(record.validation_error, record.validation_value, task)},
               {"test", score_document(record.test_error, record.test_value, task)},
               {"microseconds_per_sample", record.microseconds_per_sample}});
  return json;
}

std::int64_t sets_of(const Model& model) {
  const auto counts = model.size().counts;
  const auto rules = counts.find("rules");
  return rules == counts.end() ? 0 : rules->second * (model.dim() + model.outputs());
}

}  // namespace

TrainingLog::TrainingLog(const std::filesystem::path& file, Task task, Stop stop)
    : file_(file, kBeginning, std::move(stop)), task_(task) {}

void TrainingLog::begin(const Json& content) {
  const std::scoped_lock lock(mutex_);
  Json line{{"format", "heddle training log"}, {"version", 1}, {"event", "begin"}, {"heddle", HEDDLE_VERSION}};
  line["date"] = utc_now();
  line.update(content);
  write(line);
}

void TrainingLog::epoch(const EpochReport& report) {
  const std::scoped_lock lock(mutex_);
  report_ = report;
}

void TrainingLog::model(const Model& model) {
  const std::scoped_lock lock(mutex_);
  if (ended_) return;
  if (last_epoch_ < 0) last_epoch_ = model.training.epochs;
  epochs(model);
  if (!shown_ && model.unready().empty()) {
    shown_ = true;
    network(model, "before");
  }
}

void TrainingLog::epochs(const Model& model) {
  for (const EpochRecord& record : model.training.history) {
    if (last_epoch_ < 0 || record.epoch <= last_epoch_) continue;
    last_epoch_ = record.epoch;
    const bool reported = report_ && report_->epoch == record.epoch;
    Json line{{"event", "epoch"}};
    line.update(reported ? cli::to_json(*report_, task_) : to_json(record, task_));
    // A report of many epochs counts all their samples; a line is about one.
    line["samples"] = record.samples;
    write(line);
  }
}

void TrainingLog::network(const Model& model, std::string_view moment) {
  Json line{
      {"event", "model"},
      {"moment", moment},
      {"epoch", moment == "after" && model.training.best_epoch > 0 ? model.training.best_epoch : model.training.epochs},
      {"network", model.kind()},
      {"size", model.size().text}};
  if (sets_of(model) <= kMostSets) {
    line.update(heddle::document(model));
  } else {
    line["remark"] = fmt::format("more than {} sets and consequents are left out", kMostSets);
  }
  write(line);
}

void TrainingLog::notice(const std::string& line) {
  const std::scoped_lock lock(mutex_);
  write({{"event", "notice"}, {"text", line}});
}

void TrainingLog::end(const Model& model, const Json& content) {
  const std::scoped_lock lock(mutex_);
  if (ended_) return;
  epochs(model);
  if (model.unready().empty()) network(model, "after");
  Json line{{"event", "end"}};
  line.update(content);
  write(line);
  ended_ = true;
}

void TrainingLog::fail(const std::string& why) {
  const std::scoped_lock lock(mutex_);
  if (ended_) return;
  write({{"event", "end"}, {"ending", "failed"}, {"message", why}});
  ended_ = true;
}

void TrainingLog::write(const Json& line) {
  if (ended_) return;
  waiting_.push_back(text_of(line));
  try {
    while (!waiting_.empty()) {
      file_.append(waiting_.front());
      waiting_.pop_front();
    }
    failure_.clear();
  } catch (const Error& error) {
    failure_ = error.what();
  }
}

void TrainingLog::check(const std::string& meanwhile) {
  const std::scoped_lock lock(mutex_);
  if (waiting_.empty()) return;
  std::string lines;
  for (const std::string& line : waiting_) lines += line + "\n";
  waiting_.clear();
  std::string place;
  try {
    place = fmt::format(
        "the rest of the log is in '{}'",
        kept_elsewhere("log.jsonl", [&](const std::filesystem::path& file) { write_file(file, lines); }).string());
  } catch (const std::exception& error) {
    place = fmt::format("nor could the rest of the log be kept elsewhere: {}", error.what());
  }
  throw Error(ErrorKind::input, fmt::format("{}; {}; {}", failure_, place, meanwhile));
}

Json to_json(const OptionValues& options) {
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
  std::vector<float> least(data.inputs.begin(), data.inputs.begin() + static_cast<std::ptrdiff_t>(dim)), most = least;
  for (std::size_t i = 0; i < data.inputs.size(); ++i) {
    least[i % dim] = std::min(least[i % dim], data.inputs[i]);
    most[i % dim] = std::max(most[i % dim], data.inputs[i]);
  }
  Json inputs = Json::array();
  for (std::size_t j = 0; j < dim; ++j) {
    inputs.push_back({{"name", data.input_names.empty() ? fmt::format("input {}", j + 1) : data.input_names[j]},
                      {"minimum", least[j]},
                      {"maximum", most[j]}});
  }
  return inputs;
}

}  // namespace heddle::cli
