#include "heddle/runtime/device/cpu/process.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/runtime/device/cpu/scratch_folder.hpp"

namespace heddle {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A program that hears no signal, and has started another one like it. Both write their numbers into `numbers`.
fs::path deaf_program(const fs::path& folder, const fs::path& numbers) {
  fs::path file = folder / "deaf";
  std::ofstream(file) << "#!/bin/sh\ntrap '' TERM INT HUP\necho $$ >>" << numbers.string()
                      << "\n(echo $(exec sh -c 'echo $PPID') >>" << numbers.string()
                      << "; sleep 1000; sleep 1000) &\nwait\nsleep 1000\n";
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

/// The processes whose numbers are in `file`, once there are two of them.
std::pair<pid_t, pid_t> two_processes(const fs::path& file) {
  while (true) {
    std::ifstream stream(file);
    pid_t first = 0, second = 0;
    if (stream >> first >> second && stream.get() == '\n') return {first, second};
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

bool gone(pid_t process) {
  for (int times = 0; times < 1000; ++times) {
    const std::string state = contents(fs::path("/proc") / std::to_string(process) / "stat");
    if (state.empty() || state.find(") Z") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

TEST_CASE("a process ends with a status and what it said, and no shell reads its words") {
  const ScratchFolder folder;
  const auto said = run_process({"/bin/echo", "$HOME; ls", "*"}, folder.path() / "log");
  CHECK(said.status == 0);
  CHECK(said.output == "$HOME; ls *\n");
  const auto failed = run_process({"/bin/ls", (folder.path() / "nothing").string()}, folder.path() / "log");
  CHECK(failed.status != 0);
  CHECK(failed.output.find("nothing") != std::string::npos);
  CHECK(run_process({"/bin/sh", "-c", "kill -9 $$"}, folder.path() / "log").status == -1);
}

TEST_CASE("a program that cannot be started is named, with the reason") {
  const ScratchFolder folder;
  const auto line = [&](const std::string& program) {
    try {
      static_cast<void>(run_process({program}, folder.path() / "log"));
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::device);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(line("/no/such/program") == "cannot start /no/such/program: No such file or directory");
  std::ofstream(folder.path() / "text") << "loom";
  CHECK(line((folder.path() / "text").string()).find("Permission denied") != std::string::npos);
}

TEST_CASE("temporary files of a program go where it is told, and signals mean what they usually do") {
  const ScratchFolder folder;
  const ProcessLimits limits{.seconds = 10.0, .stop = {}, .temporary = folder.path()};
  ::signal(SIGINT, SIG_IGN);
  const auto said =
      run_process({"/bin/sh", "-c", "echo $TMPDIR; kill -INT $$; echo deaf"}, folder.path() / "log", limits);
  ::signal(SIGINT, SIG_DFL);
  CHECK(said.output == folder.path().string() + "\n");
  CHECK(said.status == -1);
}

TEST_CASE("a program that does not end in time is killed with what it started, and named") {
  const ScratchFolder folder;
  const fs::path numbers = folder.path() / "numbers";
  const fs::path program = deaf_program(folder.path(), numbers);
  std::string line;
  try {
    static_cast<void>(
        run_process({program.string()}, folder.path() / "log", {.seconds = 0.5, .stop = {}, .temporary = {}}));
  } catch (const Error& error) {
    line = error.what();
  }
  CHECK(line == program.string() + " did not end within 0.5 s");
  const auto [first, second] = two_processes(numbers);
  CHECK(gone(first));
  CHECK(gone(second));
}

TEST_CASE("a program ends as soon as somebody asks for it") {
  const ScratchFolder folder;
  const fs::path numbers = folder.path() / "numbers";
  const fs::path program = deaf_program(folder.path(), numbers);
  std::stop_source stop;
  std::thread asking([&] {
    (void)two_processes(numbers);
    stop.request_stop();
  });
  CHECK_THROWS_AS(static_cast<void>(run_process({program.string()}, folder.path() / "log",
                                                {.seconds = 600.0, .stop = stop.get_token(), .temporary = {}})),
                  Interrupted);
  asking.join();
  const auto [first, second] = two_processes(numbers);
  CHECK(gone(first));
  CHECK(gone(second));
}

TEST_CASE("a program does not outlive the process that started it") {
  const ScratchFolder folder;
  const fs::path numbers = folder.path() / "numbers";
  const fs::path program = deaf_program(folder.path(), numbers);
  const pid_t starter = ::fork();
  if (starter == 0) {
    static_cast<void>(
        run_process({program.string()}, folder.path() / "log", {.seconds = 600.0, .stop = {}, .temporary = {}}));
    ::_exit(0);
  }
  const auto [first, second] = two_processes(numbers);
  ::kill(starter, SIGKILL);
  CHECK(gone(first));
  ::kill(second, SIGKILL);  // which nobody is left to do
}

}  // namespace
}  // namespace heddle
