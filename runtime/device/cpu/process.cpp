#include "heddle/runtime/device/cpu/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "heddle/kernels/error.hpp"

namespace heddle {

ProcessResult run_process(const std::vector<std::string>& words, const std::filesystem::path& capture) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, capture.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    throw Error(ErrorKind::device, fmt::format("cannot start {}: {}", words[0], std::strerror(error)));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      throw Error(ErrorKind::device, fmt::format("cannot wait for {}: {}", words[0], std::strerror(errno)));
    }
  }
  std::ifstream file(capture, std::ios::binary);
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .output = std::string(std::istreambuf_iterator<char>(file), {})};
}

ScratchFolder::ScratchFolder() {
  std::error_code failed;
  std::filesystem::path where = std::filesystem::temp_directory_path(failed);
  if (failed) where = "/tmp";
  std::string name = (where / "heddle-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorKind::device, fmt::format("cannot make a folder in {}: {}", where.string(), std::strerror(errno)));
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace heddle
