// A program that compiles for others, as a worker's compiler does, or fails at it: compiler_program [crash | hang |
// once FILE].
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "heddle/runtime/device/compiling.hpp"
#include "heddle/runtime/process/child_process.hpp"

namespace {

/// As a compiler that crashes has taken a program before.
void wait_for_question() {
  char first = 0;
  (void)!::recv(heddle::ChildProcess::kDescriptor, &first, 1, MSG_PEEK);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string fault = words.empty() ? "" : words[0];
  if (fault == "hang") {
    while (true) ::pause();
  }
  if (fault == "crash") {
    wait_for_question();
    std::abort();
  }
  if (fault == "once" && !std::filesystem::exists(words.at(1))) {
    std::ofstream(words[1]).close();
    wait_for_question();
    std::abort();
  }
  heddle::run_compiler(heddle::ChildProcess::kDescriptor);
  return 0;
}
