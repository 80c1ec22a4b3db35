// Standard output and error that are closed, full or gone: exit codes stay right, and what was done is kept.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/program.hpp"

namespace heddle::test {
namespace {

using nlohmann::json;

std::vector<std::string> training(const Workplace& place, const std::string& data, const std::string& epochs = "2") {
  return {"train",      data,  "--device",    "cpu", "--epochs", epochs,
          "--profiles", "p.s", "--max-rules", "8",   "--model",  place.path("m").string()};
}

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// The program in a terminal of its own, which goes away when the descriptor is closed.
struct InTerminal {
  pid_t id = -1;
  int terminal = -1;
};

InTerminal start_in_terminal(const Workplace& place, const std::vector<std::string>& arguments) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(terminal >= 0);
  REQUIRE(grantpt(terminal) == 0);
  REQUIRE(unlockpt(terminal) == 0);
  std::array<char, 64> name{};
  REQUIRE(ptsname_r(terminal, name.data(), name.size()) == 0);
  const pid_t id = fork();
  REQUIRE(id >= 0);
  if (id == 0) {
    setsid();
    const int end = open(name.data(), O_RDWR);
    ioctl(end, TIOCSCTTY, 0);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(end, stream);
    if (end > STDERR_FILENO) close(end);
    place.become_program(arguments);
    _exit(127);
  }
  return {id, terminal};
}

int exit_code(pid_t id) {
  int status = 0;
  REQUIRE(waitpid(id, &status, 0) == id);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool is_running(pid_t id) {
  siginfo_t end{};
  return waitid(P_PID, static_cast<id_t>(id), &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid == 0;
}

TEST_CASE("errors keep their exit codes where nobody can be told") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(60, 3, 2, 1));
  const std::string text = place.write("text.sqlite", "shopping list: bread, milk, a loom\n");
  struct Case {
    std::vector<std::string> arguments;
    int code;
  };
  for (const Case& wrong :
       {Case{{"weave"}, 2}, Case{{"train", data, "--epochs", "0"}, 2}, Case{{"train", "none"}, 3},
        Case{{"train", data, "--device", "abacus"}, 4}, Case{{"profiles", "list", "--profiles", text}, 5}}) {
    CAPTURE(wrong.arguments.back());
    for (const char* const err : {Streams::kClosed, "/dev/full", "/dev/null"}) {
      CAPTURE(err);
      CHECK(place.run(wrong.arguments, {}, {.err = err}).code == wrong.code);
      CHECK(place.run(wrong.arguments, {}, {.out = err, .err = err}).code == wrong.code);
    }
  }
}

TEST_CASE("remarks that cannot be written cost nothing") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(60, 3, 2, 1));
  for (const char* const err : {Streams::kClosed, "/dev/full"}) {
    CAPTURE(err);
    std::filesystem::remove(place.path("m"));
    const Outcome trained = place.run(training(place, data), {}, {.err = err});
    CHECK(trained.code == 0);
    CHECK(trained.out.find("model: ") != std::string::npos);
    const Outcome predicted = place.run({"predict", "m", data, "--device", "cpu"}, {}, {.err = err});
    CHECK(predicted.code == 0);
    CHECK(predicted.out.starts_with("class\n"));
    // With "too many unknowns" this one has a remark to make before the model is saved.
    const std::string surface = place.write("s.csv", "0,0\n1,1\n0.5,0.7\n0.2,0.1\n");
    CHECK(place
              .run({"train", surface, "--task", "regress", "--network", "tsk", "--sets", "9", "--device", "cpu",
                    "--epochs", "3", "--model", "t"},
                   {}, {.err = err})
              .code == 0);
    CHECK(place.run({"predict", "t", surface, "--device", "cpu"}).code == 0);
  }
}

TEST_CASE("a document that cannot be written is an error, and the model is there") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(60, 3, 2, 1));
  for (const char* const out : {Streams::kClosed, "/dev/full"}) {
    CAPTURE(out);
    for (const bool as_json : {false, true}) {
      CAPTURE(as_json);
      std::filesystem::remove(place.path("m"));
      const Outcome trained = place.run(
          with(training(place, data), as_json ? std::vector<std::string>{"--json"} : std::vector<std::string>{}), {},
          {.out = out});
      check_refused(trained, 3, {"standard output", as_json ? "" : "the model is kept"});
      CHECK(place.run({"predict", "m", data, "--device", "cpu"}).code == 0);
    }
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"predict", "m", data, "--device", "cpu", "--quiet"},
          {"predict", "m", data, "--device", "cpu", "--json"},
          {"inspect", "m"},
          {"profiles", "list"},
          {"devices"},
          {"--help"},
          {"--version"}}) {
      CAPTURE(arguments.back());
      check_refused(place.run(arguments, {}, {.out = out}), 3, {"standard output"});
    }
  }
  check_refused(place.run({"predict", "m", data, "--device", "cpu", "--quiet", "--output", "/dev/full"}), 3,
                {"/dev/full", "No space left"});
}

TEST_CASE("no file that is opened gets what is meant for a closed stream") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(60, 3, 2, 1));
  const std::vector<std::string> tune{
      "tune",      "--device", "cpu",           "--family", "sonfin-train", "--rules", "5", "--dim", "3",
      "--outputs", "2",        "--evaluations", "4",        "--profiles",   "p.s"};
  const Outcome tuned = place.run(tune, {}, {.out = Streams::kClosed, .err = Streams::kClosed});
  CHECK(tuned.code == 3);  // its table is lost
  const json list = json::parse(place.run({"profiles", "list", "--json", "--profiles", "p.s"}).out);
  CHECK(list["records"].size() == 1);
  CHECK(place.run(training(place, data), {}, {.out = Streams::kClosed, .err = Streams::kClosed}).code == 3);
  CHECK(place.run({"predict", "m", data, "--device", "cpu"}).code == 0);
}

TEST_CASE("a result that goes to standard output has it to itself") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(50, 3, 2, 1));
  REQUIRE(place.run({"train", data, "--device", "cpu", "--epochs", "1", "--model", "m"}).code == 0);
  const std::string streamed = place.write("streamed", "");
  for (std::vector<std::string> command : {std::vector<std::string>{"predict", "m", data, "--device", "cpu"},
                                           {"convert", data, "--to", "table"},
                                           {"train", data, "--device", "cpu", "--epochs", "1"}}) {
    CAPTURE(command.front());
    const std::string option = command.front() == "train" ? "--model" : "--output";
    const auto with = [&](const std::string& file) {
      std::vector<std::string> whole = command;
      whole.insert(whole.end(), {option, file});
      return whole;
    };
    REQUIRE(place.run(with("plain")).code == 0);
    place.write("streamed", "");
    const Outcome outcome = place.run(with("/dev/stdout"), {}, {.out = streamed.c_str()});
    CHECK(outcome.code == 0);
    CHECK(outcome.err.find("/dev/stdout") != std::string::npos);  // what is said
    if (command.front() == "train") {
      CHECK(place.run({"predict", "streamed", data, "--device", "cpu", "--output", "o"}).code == 0);
    } else {
      CHECK(place.read("streamed") == place.read("plain"));
    }
  }
  REQUIRE(place
              .run({"tune", "--device", "cpu", "--family", "sonfin-train", "--rules", "8", "--dim", "3", "--outputs",
                    "2", "--evaluations", "2", "--profiles", "p"})
              .code == 0);
  place.write("streamed", "");
  CHECK(place.run({"profiles", "export", "/dev/stdout", "--profiles", "p"}, {}, {.out = streamed.c_str()}).code == 0);
  CHECK(nlohmann::json::accept(place.read("streamed")));
}

TEST_CASE("a reader of the output that goes away is no error") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(20'000, 3, 2, 1));
  REQUIRE(place.run(training(place, data)).code == 0);
  const std::string program = "'" HEDDLE_PROGRAM "' ";
  const std::string command = "cd '" + place.folder().string() + "' && { " + program +
                              "predict m data.csv --device cpu --quiet; echo $? > code; } | head -1 > first";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(place.read("first") == "class\n");
  CHECK(place.read("code") == "0\n");
}

TEST_CASE("a terminal that goes away while training keeps the model so far") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(2000, 3, 2, 1));
  const InTerminal program = start_in_terminal(place, training(place, data, "1000000"));
  std::array<char, 4096> seen{};
  for (std::string shown; shown.find("us/sample") == std::string::npos;) {  // the first epoch is done
    const ssize_t count = read(program.terminal, seen.data(), seen.size());
    REQUIRE(count > 0);
    shown.append(seen.data(), static_cast<std::size_t>(count));
  }
  close(program.terminal);   // the kernel sends SIGHUP
  kill(program.id, SIGHUP);  // and so does the shell
  CHECK(exit_code(program.id) == 130);
  CHECK(place.run({"predict", "m", data, "--device", "cpu"}).code == 0);
}

TEST_CASE("SIGHUP that is ignored stays ignored") {
  const Workplace place;
  const std::string data = place.write("data.csv", table(2000, 3, 2, 1));
  const auto before = std::signal(SIGHUP, SIG_IGN);  // what nohup does
  const Process process = place.start(training(place, data, "1000000"));
  std::signal(SIGHUP, before);
  place.wait_for(process.out, "us/sample");  // the first epoch is done
  kill(process.id, SIGHUP);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  CHECK(is_running(process.id));
  kill(process.id, SIGTERM);
  CHECK(place.wait(process).code == 130);
}

}  // namespace
}  // namespace heddle::test
