#include "heddle/runtime/device/cuda/compiler_processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/runtime/process/channel.hpp"
#include "heddle/runtime/process/child_process.hpp"

namespace heddle {

namespace {

using nlohmann::json;

/// What each of so many processes may take, so that together they do not take all there is. A compiler that is given
/// next to nothing compiles nothing, so there is a least share.
std::int64_t share_of_memory(unsigned processes) {
  constexpr std::int64_t kLeast = std::int64_t{1} << 30;
  const std::int64_t all = available_memory() / 10 * 9;
  return std::max(all / processes, std::min(all, kLeast));
}

constexpr double kDyingSeconds = 1.0;  // that a process may take to end after its socket has closed

json question_of(const ProgramInput& input, const std::vector<std::string>& words, const std::string& library) {
  json files = json::array();
  for (const SourceFile& file : input.source->files()) files.push_back({file.name, file.text});
  return {{"library", library}, {"files", std::move(files)}, {"expressions", input.expressions}, {"words", words}};
}

ProgramResult result_of(const json& answer) {
  ProgramResult result;
  result.compiled = answer.at("compiled").get<bool>();
  const json::binary_t& bytes = answer.at("bytes").get_binary();
  result.bytes.assign(bytes.begin(), bytes.end());
  result.symbols = answer.at("symbols").get<std::vector<std::string>>();
  result.log = answer.at("log").get<std::string>();
  return result;
}

}  // namespace

class CompilerProcesses::Process {
 public:
  /// In the session of this process: whoever ends that ends the compilers, too.
  Process(const std::vector<std::string>& command, std::int64_t most_bytes)
      : process_(command, Session::of_parent), channel_(process_.take_socket()), most_bytes_(most_bytes) {}

  [[nodiscard]] ProgramResult compile(const json& question, double seconds, const std::stop_token& stop) {
    bool too_large = false;
    const auto watch = [&] {
      too_large = process_.resident_bytes() > most_bytes_;
      return too_large || stop.stop_requested();
    };
    try {
      channel_.send(question, {.seconds = seconds, .watch = watch});
      const json answer = channel_.receive({.seconds = seconds, .watch = watch});
      if (answer.contains("error")) throw Error(ErrorKind::device, answer.at("error").get<std::string>());
      return result_of(answer);
    } catch (const ChannelError& error) {
      lost_ = true;
      if (stop.stop_requested()) throw Interrupted();
      crashed_ = error.reason() == ChannelError::Reason::closed || error.reason() == ChannelError::Reason::garbled;
      return {.compiled = false, .bytes = {}, .symbols = {}, .log = complaint(error, seconds, too_large)};
    }
  }
  /// It can compile no more.
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  /// And not because it was too slow or too large.
  [[nodiscard]] bool crashed() const noexcept { return crashed_; }

 private:
  std::string complaint(const ChannelError& error, double seconds, bool too_large) {
    if (too_large) return fmt::format("{} took more than {} MiB of memory", kCompilerFailed, most_bytes_ >> 20);
    if (!crashed_) return fmt::format("{} did not end within {:.3g} s", kCompilerFailed, seconds);
    const ProcessEnd end = process_.end(kDyingSeconds);
    const std::string last_words = process_.last_words();
    return fmt::format("{} ended with {} {}{}{}", kCompilerFailed, end.signalled ? "signal" : "exit code", end.number,
                       last_words.empty() ? std::string() : ": ",
                       last_words.empty() && !end.signalled ? error.what() : last_words);
  }

  ChildProcess process_;
  Channel channel_;
  std::int64_t most_bytes_;
  bool lost_ = false, crashed_ = false;
};

CompilerProcesses::CompilerProcesses(std::vector<std::string> command, const Nvrtc& nvrtc, unsigned threads)
    : command_(std::move(command)), library_(nvrtc.file()), most_bytes_(share_of_memory(threads)) {}

CompilerProcesses::~CompilerProcesses() = default;

ProgramResult CompilerProcesses::compile(const ProgramInput& input, const std::vector<std::string>& words,
                                         const std::stop_token& stop) {
  constexpr int kAttempts = 2;  // a process may have been killed by somebody else
  const json question = question_of(input, words, library_);
  for (int attempt = 1;; ++attempt) {
    std::unique_ptr<Process> process = take();
    ProgramResult result = process->compile(question, input.seconds, stop);
    const bool again = process->crashed() && attempt < kAttempts;
    if (!process->lost()) give_back(std::move(process));
    if (!again) return result;
  }
}

std::unique_ptr<CompilerProcesses::Process> CompilerProcesses::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Process> process = std::move(idle_.back());
      idle_.pop_back();
      return process;
    }
  }
  return std::make_unique<Process>(command_, most_bytes_);
}

void CompilerProcesses::give_back(std::unique_ptr<Process> process) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(process));
}

}  // namespace heddle
