// The process on the other side of CompilerProcesses.
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/runtime/device/compiling.hpp"
#include "heddle/runtime/device/cuda/nvrtc.hpp"
#include "heddle/runtime/process/channel.hpp"

namespace heddle {

namespace {

using nlohmann::json;

/// Makes this process ignore Ctrl-C (its parent handles it), be among the first that the system ends when memory runs
/// out, write no core files, and leave the cores to the process that measures.
void become_compiler() {
  constexpr int kNiceness = 5;
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &none);
  (void)!::nice(kNiceness);
}

/// Ends this process as soon as nobody waits for its answers any more: a compilation cannot be stopped.
void end_with_parent(int descriptor) {
  std::thread([descriptor] {
    pollfd parent{.fd = descriptor, .events = POLLRDHUP, .revents = 0};
    while (::poll(&parent, 1, -1) <= 0) continue;
    ::_exit(0);
  }).detach();
}

/// They refer to the question, which has to outlive them.
std::vector<SourceFile> files_of(const json& question) {
  std::vector<SourceFile> files;
  files.reserve(question.at("files").size());
  for (const json& file : question.at("files")) {
    files.push_back({file.at(0).get_ref<const std::string&>(), file.at(1).get_ref<const std::string&>()});
  }
  return files;
}

class CompilerServer {
 public:
  json answer(const json& question) {
    try {
      const auto library = question.at("library").get<std::string>();
      if (!nvrtc_ || nvrtc_->file() != library) nvrtc_ = Nvrtc::open_file(library);
      ProgramResult result =
          nvrtc_->compile(files_of(question), question.at("expressions").get<std::vector<std::string>>(),
                          question.at("words").get<std::vector<std::string>>());
      return {{"compiled", result.compiled},
              {"bytes", json::binary({result.bytes.begin(), result.bytes.end()})},
              {"symbols", std::move(result.symbols)},
              {"log", std::move(result.log)}};
    } catch (const std::exception& error) {
      return {{"error", error.what()}};
    }
  }

 private:
  std::shared_ptr<const Nvrtc> nvrtc_;
};

}  // namespace

void run_compiler(int descriptor) {
  int type = 0;
  socklen_t bytes = sizeof type;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 || type != SOCK_STREAM) {
    throw Error(ErrorKind::usage,
                "compiler: its descriptor 3 is no socket; worker processes start this command, nobody else needs it");
  }
  become_compiler();
  end_with_parent(descriptor);
  Channel channel(descriptor);
  CompilerServer server;
  try {
    while (true) channel.send(server.answer(channel.receive({})));
  } catch (const ChannelError& error) {
    if (error.reason() == ChannelError::Reason::closed) return;
    throw Error(ErrorKind::input, std::string("compiler: ") + error.what());
  }
}

}  // namespace heddle
