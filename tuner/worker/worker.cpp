#include "heddle/tuner/worker/worker.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "heddle/runtime/device/cpu/scratch_folder.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/runtime/process/processor_time.hpp"

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
                      options_.start_seconds, Judge::clock);
  } catch (const Error&) {
    retire();
    throw;
  }
  const std::string unit = device.at("unit");
  if (unit_ && unit != *unit_) {
    retire();
    throw Error(ErrorKind::device, fmt::format("{} is lost: another card has its label now", label_));
  }
  if (unit_) return;  // the same card as before; other threads may be reading what is known of it
  label_ = device.at("label");
  remark_ = device.at("remark");
  identity_ = DeviceIdentity::parse(device.at("identity").get<std::string>());
  shares_processor_ = device.at("shares_processor");
  unit_ = unit;
}

json Worker::ask(const json& question, double seconds, const Stop& stop) {
  if (options_.stop && options_.stop()) throw Interrupted();
  ensure();
  return exchange(question, seconds, shares_processor_ ? Judge::processor : Judge::clock, stop);
}

json Worker::exchange(const json& question, double seconds, Judge judge, const Stop& stop) {
  json answer;
  bool stopped = false, hangs = false;
  const double start = seconds_now();
  std::optional<ProcessorTime> got;  // from the first look on: most answers come before it
  const auto watch = [&] {
    if (judge == Judge::processor && !got) got.emplace(process_->id());
    stopped = (options_.stop && options_.stop()) || (stop && stop());
    hangs = got && seconds_now() - start >= seconds && got->of_busiest_thread() >= seconds;
    return stopped || hangs || process_->resident_bytes() > memory_limit_;
  };
  const double most = judge == Judge::processor ? kMostPatience * seconds : seconds;
  try {
    channel_->send(question, {.seconds = most, .watch = watch});
    answer = channel_->receive({.seconds = most, .watch = watch});
  } catch (const ChannelError& error) {
    if (stopped) {
      retire();
      throw Interrupted();
    }
    std::string hang = fmt::format("did not end within {:.3g} s", hangs ? seconds : most);
    if (got && !hangs && got->would_go_on())
      hang = fmt::format("{}: {}, of which it had {:.2g} s", kStarved, hang, got->of_busiest_thread());
    throw lost(hangs ? ChannelError(ChannelError::Reason::late, hang) : error, hang);
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

WorkerLost Worker::lost(const ChannelError& error, const std::string& hang) {
  using Reason = ChannelError::Reason;
  const ProcessEnd end = process_->end(error.reason() == Reason::closed ? kDying : 0.0);
  const std::string last_words = process_->last_words();
  retire();
  switch (error.reason()) {
    case Reason::late:
      return {Status::hang, hang, false};
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
