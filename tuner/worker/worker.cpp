#include "heddle/tuner/worker/worker.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "heddle/runtime/device/cpu/scratch_folder.hpp"
#include "heddle/runtime/device/device_failure.hpp"

namespace heddle {

namespace {

using nlohmann::json;

constexpr double kDying = 1.0;  // seconds that a process may take to end after its socket has closed

bool bad_address(int signal) { return signal == SIGSEGV || signal == SIGBUS; }

/// Signals that a process does not send itself by accident.
bool sent_by_others(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

WorkerLost ended(const ProcessEnd& end, const std::string& last_words) {
  std::string line = end.signalled
                         ? fmt::format("the process ended with signal {} ({})", end.number, ::strsignal(end.number))
                         : fmt::format("the process ended with exit code {}", end.number);
  if (!last_words.empty()) line += ": " + last_words;
  const Status status = end.signalled && bad_address(end.number) ? Status::illegal_access : Status::crash;
  return {status, line, end.signalled && sent_by_others(end.number)};
}

}  // namespace

Worker::Worker(WorkerOptions options) : options_(std::move(options)) { ensure(); }

Worker::~Worker() { retire(); }

void Worker::ensure() {
  for (int attempts = 1; !channel_; ++attempts) {
    try {
      start();
    } catch (const WorkerLost& lost) {
      if (lost.from_outside() && attempts < 3) continue;
      throw Error(ErrorKind::device,
                  fmt::format("cannot open device \"{}\" in a process of its own: {}", options_.device, lost.what()));
    }
  }
}

void Worker::start() {
  process_.reset();
  const std::int64_t left = available_memory();
  memory_limit_ = options_.memory_bytes > 0 ? options_.memory_bytes : left - left / 10;
  process_ = std::make_unique<ChildProcess>(options_.command);
  channel_.emplace(process_->take_socket());
  calls_before_ += std::exchange(calls_, 0);
  json families = json::array();
  for (const FamilyDescription& each : options_.families) {
    families.push_back({{"maker", each.maker}, {"text", each.text}});
  }
  json device;
  try {
    device = exchange({{"ask", "open"},
                       {"device", options_.device},
                       {"families", std::move(families)},
                       {"compile_seconds", options_.compile_seconds},
                       {"cold_cache", options_.cold_cache}},
                      options_.start_seconds);
  } catch (const Error&) {
    retire();
    throw;
  }
  const std::string unit = device.at("unit");
  if (unit_ && unit != *unit_) {
    retire();
    throw Error(ErrorKind::device, fmt::format("{} is lost: another card has its label now", label_));
  }
  unit_ = unit;
  label_ = device.at("label");
  remark_ = device.at("remark");
  identity_ = DeviceIdentity::parse(device.at("identity").get<std::string>());
  shares_processor_ = device.at("shares_processor");
}

json Worker::ask(const json& question, double seconds, const Stop& stop) {
  if (options_.stop && options_.stop()) throw Interrupted();
  ensure();
  return exchange(question, seconds, stop);
}

json Worker::exchange(const json& question, double seconds, const Stop& stop) {
  json answer;
  bool stopped = false;
  const auto watch = [&] {
    stopped = (options_.stop && options_.stop()) || (stop && stop());
    return stopped || process_->resident_bytes() > memory_limit_;
  };
  try {
    channel_->send(question, {.seconds = seconds, .watch = watch});
    answer = channel_->receive({.seconds = seconds, .watch = watch});
  } catch (const ChannelError& error) {
    if (stopped) {
      retire();
      throw Interrupted();
    }
    throw lost(error, seconds);
  }
  if (const auto failure = answer.find("failure"); failure != answer.end()) {
    const auto status = parse_status(failure->get<std::string>());
    throw DeviceFailure(status.value_or(Status::crash), answer.at("message").get<std::string>());
  }
  if (const auto kind = answer.find("error"); kind != answer.end()) {
    throw Error(static_cast<ErrorKind>(kind->get<int>()), answer.at("message").get<std::string>());
  }
  if (const auto calls = answer.find("compiler_calls"); calls != answer.end()) calls_ = calls->get<std::int64_t>();
  return answer;
}

WorkerLost Worker::lost(const ChannelError& error, double seconds) {
  using Reason = ChannelError::Reason;
  const ProcessEnd end = process_->end(error.reason() == Reason::closed ? kDying : 0.0);
  const std::string last_words = process_->last_words();
  retire();
  switch (error.reason()) {
    case Reason::late:
      return {Status::hang, fmt::format("did not end within {:.3g} s", seconds), false};
    case Reason::stopped:
      return {Status::out_of_memory, fmt::format("took more than {} MiB of memory", memory_limit_ >> 20), false};
    case Reason::garbled:
      return {Status::crash, fmt::format("the process damaged itself: {}", error.what()), false};
    case Reason::closed:
      break;
  }
  return ended(end, last_words);
}

void Worker::tell(const json& message) noexcept {
  try {
    constexpr double kMostSeconds = 1.0;
    if (channel_) channel_->send(message, {.seconds = kMostSeconds, .watch = {}});
  } catch (const std::exception&) {  // seen by whoever asks next
  }
}

void Worker::retire() noexcept {
  channel_.reset();
  if (!process_) return;
  process_.reset();
  ++generation_;
  remove_abandoned_folders();  // which it cannot do itself
}

}  // namespace heddle
