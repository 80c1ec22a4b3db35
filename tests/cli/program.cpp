#include "cli/program.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace heddle::test {
namespace {

std::string contents(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void redirect(const std::string& file, int descriptor) {
  const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (opened < 0 || dup2(opened, descriptor) < 0) _exit(126);
  close(opened);
}

}  // namespace

Workplace::Workplace() {
  std::string pattern = (std::filesystem::temp_directory_path() / "heddle-cli-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
}

Workplace::~Workplace() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Workplace::write(const std::string& name, const std::string& bytes) const {
  const std::filesystem::path file = path(name);
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
  return file.string();
}

std::string Workplace::read(const std::string& name) const { return contents(path(name).string()); }

void Workplace::wait_for(const std::string& file, const std::string& text) const {
  using namespace std::chrono_literals;
  for (int i = 0; i < 1200; ++i, std::this_thread::sleep_for(50ms)) {
    if (contents(file).find(text) != std::string::npos) return;
  }
  throw std::runtime_error("'" + text + "' did not appear in " + file);
}

void Workplace::become_program(const std::vector<std::string>& arguments) const {
  if (chdir(folder_.c_str()) != 0) return;
  setenv("XDG_DATA_HOME", path("data").c_str(), 1);
  setenv("XDG_CACHE_HOME", path("cache").c_str(), 1);
  unsetenv("HEDDLE_PROFILES");
  std::vector<char*> values;
  std::string program = HEDDLE_PROGRAM;
  values.push_back(program.data());
  for (const std::string& argument : arguments) values.push_back(const_cast<char*>(argument.c_str()));
  values.push_back(nullptr);
  execv(program.c_str(), values.data());
}

Process Workplace::start(const std::vector<std::string>& arguments, Limits limits, Streams streams) const {
  const std::string number = std::to_string(processes_++);
  Process process{.id = 0, .out = path("out." + number).string(), .err = path("err." + number).string()};
  process.id = fork();
  if (process.id < 0) throw std::runtime_error("cannot start a process");
  if (process.id > 0) {
    setpgid(process.id, process.id);  // in both processes: either may come first
    return process;
  }

  const std::string out = streams.out != nullptr ? streams.out : process.out;
  const std::string err = streams.err != nullptr ? streams.err : process.err;
  redirect(out == Streams::kClosed ? "/dev/null" : out, STDOUT_FILENO);
  redirect(err == Streams::kClosed ? "/dev/null" : err, STDERR_FILENO);
  // Not before: a file that is opened takes the first descriptor that is free.
  if (out == Streams::kClosed) close(STDOUT_FILENO);
  if (err == Streams::kClosed) close(STDERR_FILENO);
  setpgid(0, 0);
  if (limits.file_bytes >= 0) {
    const rlimit limit{.rlim_cur = static_cast<rlim_t>(limits.file_bytes),
                       .rlim_max = static_cast<rlim_t>(limits.file_bytes)};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  become_program(arguments);
  _exit(127);
}

/// What a program said on standard error, without the line that a busy processor is the cause of: tests run side by
/// side.
std::string said(const std::string& file) {
  std::string text = contents(file);
  const std::size_t at = text.find("heddle: cpu: other programs use the cores: ");
  if (at != std::string::npos && (at == 0 || text[at - 1] == '\n')) text.erase(at, text.find('\n', at) - at + 1);
  return text;
}

Outcome Workplace::wait(const Process& process) const {
  int status = 0;
  waitpid(process.id, &status, 0);
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .out = contents(process.out),
          .err = said(process.err)};
}

Outcome Workplace::run(const std::vector<std::string>& arguments, Limits limits, Streams streams) const {
  return wait(start(arguments, limits, streams));
}

void check_refused(const Outcome& outcome, int code, const std::vector<std::string>& words) {
  CAPTURE(outcome.out);
  CAPTURE(outcome.err);
  CHECK(outcome.code == code);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.starts_with("heddle: "));
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  CHECK(outcome.err.size() <= 1001);  // docs/formats.md, and the end of the line
  CHECK(outcome.err.ends_with('\n'));
  for (const std::string& word : words) {
    CAPTURE(word);
    CHECK(outcome.err.find(word) != std::string::npos);
  }
}

std::string table(int rows, int dim, int classes, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> noise(-0.3, 0.3);
  std::ostringstream text;
  for (int i = 0; i < rows; ++i) {
    const int label = i < classes ? i : static_cast<int>(random() % static_cast<unsigned>(classes));
    for (int j = 0; j < dim; ++j) text << ((label >> (j % 5)) & 1) + noise(random) << ',';
    text << 'c' << label << '\n';
  }
  return text.str();
}

}  // namespace heddle::test
