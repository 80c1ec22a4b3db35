#include "heddle/runtime/train/training_log.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/files.hpp"
#include "heddle/kernels/kept_elsewhere.hpp"
#include "heddle/runtime/device/identity_document.hpp"
#include "heddle/runtime/device/provenance.hpp"
#include "heddle/runtime/model/description.hpp"
#include "heddle/runtime/train/training_document.hpp"

namespace heddle {
namespace {

constexpr std::string_view kBeginning = R"({"format":"heddle training log",)";

/// More sets than these make no chart that anybody reads, and a line of tens of megabytes.
constexpr std::int64_t kMostSets = 20'000;

using Json = TrainingLog::Json;

/// ASCII, as documents are.
std::string text_of(const Json& line) { return line.dump(-1, ' ', true, Json::error_handler_t::replace); }

std::int64_t sets_of(const Model& model) {
  const auto counts = model.size().counts;
  const auto rules = counts.find("rules");
  return rules == counts.end() ? 0 : rules->second * (model.dim() + model.outputs());
}

}  // namespace

TrainingLog::TrainingLog(const std::filesystem::path& file, Task task, Stop stop)
    : file_(file, kBeginning, std::move(stop)), task_(task) {}

void TrainingLog::begin(const Device& device, std::string_view network, const TrainingJob& job, const Json& more) {
  const std::scoped_lock lock(mutex_);
  Json line{{"format", "heddle training log"},
            {"version", 1},
            {"event", "begin"},
            {"heddle", HEDDLE_VERSION},
            {"date", utc_now()},
            {"device", device.label()},
            {"identity", identity_document(device.identity())},
            {"data", data_document(*job.train, job.test)},
            {"inputs", input_ranges(*job.train)},
            {"target_names", job.train->target_names},
            {"classes", job.train->classes},
            {"network", network},
            {"options", options_document(job.options)}};
  line.update(more);
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
    line.update(reported ? epoch_document(*report_, task_) : epoch_document(record, task_));
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

void TrainingLog::end(const Device& device, const TrainingResult& result, const Json& more) {
  const std::scoped_lock lock(mutex_);
  if (ended_) return;
  epochs(result.model);
  if (result.model.unready().empty()) network(result.model, "after");
  Json line{{"event", "end"},
            {"ending", text(result.ending)},
            {"message", result.message},
            {"best_epoch", result.model.training.best_epoch},
            {"compiler_calls", device.compiler_calls()},
            {"microseconds_per_sample", microseconds_per_sample(result.epochs)}};
  line.update(more);
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

}  // namespace heddle
