// Kernels that crash, hang, eat all memory, leave or compute rubbish, on a device whose label is in HEDDLE_TEST_DEVICE
// (by default the CPU).
#include "heddle/tuner/worker/isolated_evaluator.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "heddle/kernels/sonfin/network.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/kernels/stop.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/tuner/tuner.hpp"
#include "placed.hpp"
#include "tuner/temporary_store.hpp"
#include "tuner/worker/faulty_family.hpp"

using namespace heddle;

namespace {

std::string device_label() {
  const char* const label = std::getenv("HEDDLE_TEST_DEVICE");
  return label == nullptr ? "cpu" : label;
}

/// This program's families. Its worker program has to be told of the faulty one.
const FamilyRegistry& families() {
  static const FamilyRegistry families = test::families_with_faulty();
  return families;
}

const KernelFamily& faulty_family() { return families().at("faulty"); }

WorkerOptions options() {
  return {.command = {test::worker_program()},
          .device = device_label(),
          .families = families().descriptions(),
          .memory_bytes = std::int64_t{256} << 20};
}

Configuration configuration(const std::string& kind, std::int64_t work = 1) {
  return Configuration({{"kind", kind}, {"work", work}});
}

Problem problem(std::int64_t size) { return Problem({{.name = "size", .value = size}}); }

/// Part of what has to be said of each fault, so that it was found for its own reason. What a GPU's driver says of an
/// illegal access is its own affair.
std::map<std::string, std::string> reasons(const std::string& backend) {
  std::map<std::string, std::string> all{{"spin", "did not end within"},
                                         {"outside", "wrote behind buffer 'result'"},
                                         {"even", "size=37, run 0: wrong sums"},
                                         {"null", ""},
                                         {"memory", ""},
                                         {"leave", ""}};
  if (backend == "cpu") {
    all["null"] = "ended with signal 11";
    all["memory"] = "took more than 256 MiB";
    all["leave"] = "ended with exit code 0";
  }
  if (backend == "emulator") {
    all["null"] = "access through a null";
    all["memory"] = "of buffer 'values', which has 256";
    all["leave"] = "__trap";
    all["outside"] = "of buffer 'result', which has 256";
  }
  return all;
}

Status failure_of(IsolatedEvaluator& evaluator, const std::string& kind) {
  try {
    const auto runner = evaluator.prepare(configuration(kind), problem(64), 32);
    (void)runner->time();
    runner->check_guards();
    return Status::unverified;
  } catch (const DeviceFailure& failure) {
    CHECK(std::string(failure.what()).find('\n') == std::string::npos);
    return failure.status();
  }
}

}  // namespace

TEST_CASE("a worker that shares its units with other programs measures beside one, and no other does") {
  Worker worker(options());
  IsolatedEvaluator evaluator(worker, faulty_family(), 3);
  const auto compilation = evaluator.compile({configuration("good")}, problem(64));
  while (compilation->next()) {
  }
  const auto runner = evaluator.prepare(configuration("good"), problem(64), 32);
  const auto time = runner->busy_core_time();
  CHECK(time.has_value() == (worker.identity().backend == "cpu"));
  if (time) CHECK(*time > 0.0);
}

TEST_CASE("a worker that was not told of a family says so") {
  WorkerOptions untold = options();
  untold.families = {};
  Worker worker(untold);
  IsolatedEvaluator evaluator(worker, faulty_family(), 3);
  CHECK_THROWS_WITH_AS((void)evaluator.provenance(), doctest::Contains("no kernel family 'faulty': expected one of"),
                       Error);
  WorkerOptions wrong = options();
  wrong.families = {{.maker = "weaver", .text = "carpet"}};
  CHECK_THROWS_WITH_AS(Worker{wrong}, doctest::Contains("no maker of kernel families called 'weaver'"), Error);
}

TEST_CASE("every fault gets its status, and the search ends with the right winner") {
  Worker worker(options());
  const bool on_cpu = worker.identity().backend == "cpu";
  IsolatedEvaluator evaluator(worker, faulty_family(), 3);
  const TemporaryStore temporary;
  StopCondition stop;
  const auto results =
      Tuner(evaluator, temporary.store, {.strategy = "exhaustive", .seed = 3}).tune({problem(64)}, stop);
  REQUIRE(results.size() == 1);
  REQUIRE(results[0].profile);
  CHECK(results[0].profile->configuration == "kind=good work=1");
  CHECK(results[0].evaluations() == 9);
  std::map<std::string, Status> statuses;
  std::map<std::string, std::string> messages;
  for (const Measurement& measurement : temporary.store.measurements()) {
    statuses.try_emplace(measurement.configuration, measurement.status);  // newest first
    messages.try_emplace(measurement.configuration, measurement.message);
    CAPTURE(measurement.configuration);
    // One that is wrong on another shape than its own is timed first, and found when it is about to win.
    if (measurement.configuration.find("good") == std::string::npos && measurement.status != Status::unverified) {
      CHECK(measurement.times.empty());
      CHECK(!measurement.message.empty());
    }
  }
  CHECK(statuses["kind=good work=1"] == Status::correct);
  CHECK(statuses["kind=null work=1"] == Status::illegal_access);
  CHECK(statuses["kind=spin work=1"] == Status::hang);
  // The emulator sees the store itself, others what it left behind the buffer.
  const bool watched = worker.identity().backend == "emulator";
  CHECK(statuses["kind=outside work=1"] == (watched ? Status::illegal_access : Status::overrun));
  CHECK(statuses["kind=even work=1"] == Status::wrong_result);
  // A kernel on a GPU can neither end the process nor take its memory.
  CHECK(statuses["kind=memory work=1"] == (on_cpu ? Status::out_of_memory : Status::illegal_access));
  CHECK(statuses["kind=leave work=1"] == (on_cpu ? Status::crash : Status::illegal_access));
  for (const auto& expected : reasons(worker.identity().backend)) {
    const std::string& message = messages["kind=" + expected.first + " work=1"];
    CHECK_MESSAGE(message.find(expected.second) != std::string::npos, expected.first << ": " << message);
  }
}

TEST_CASE("a hang is cut at the larger of two seconds and fifty times the best, twice") {
  Worker worker(options());
  IsolatedEvaluator evaluator(worker, faulty_family(), 3, {.factor = 50.0, .least = 0.3});
  const auto good = evaluator.prepare(configuration("good", 4), problem(64), 32);
  (void)good->time();
  const std::int64_t before = worker.generation();
  const double start = StopCondition::steady_clock()();
  CHECK(failure_of(evaluator, "spin") == Status::hang);
  const double took = StopCondition::steady_clock()() - start;
  CHECK(took >= 0.6);
  CHECK(worker.generation() == before + 2);  // the second time in another process
  evaluator.check_device();
  CHECK(good->time() > 0.0);  // made anew in another process
}

TEST_CASE("who answers when asked again does not hang") {
  Worker worker(options());
  IsolatedEvaluator evaluator(worker, faulty_family(), 3, {.factor = 50.0, .least = 0.3});
  const auto runner = evaluator.prepare(configuration("good", 2), problem(64), 32);
  CHECK(runner->time() > 0.0);
  const std::int64_t before = worker.generation();
  REQUIRE(::kill(worker.process(), SIGSTOP) == 0);  // as if it got no processor
  CHECK(runner->time() > 0.0);
  CHECK(worker.generation() == before + 1);
}

TEST_CASE(
    "on a loaded machine a kernel that is slow does not hang, and one that never gets the processor is told apart") {
  Worker worker(options());
  if (!worker.shares_processor()) return;
  IsolatedEvaluator evaluator(worker, faulty_family(), 3, {.factor = 1.5, .least = 0.05});
  const auto slow = evaluator.prepare(configuration("good", 4), problem(1 << 14), 32);
  const double alone = slow->time();
  CHECK(alone > 0.0);
  // Other programs' share of the processor, made by hand: the worker is stopped for 20 of every 40 ms.
  using std::chrono::milliseconds;
  std::atomic<bool> over = false;
  const pid_t process = worker.process();
  std::thread load([&] {
    while (!over) {
      ::kill(process, SIGSTOP);
      std::this_thread::sleep_for(milliseconds(20));
      ::kill(process, SIGCONT);
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  const std::int64_t before = worker.generation();
  CHECK(slow->time() > 0.0);
  CHECK(worker.generation() == before);  // was given up by nobody: twice the time is more than 1.5 times
  over = true;
  load.join();

  REQUIRE(::kill(worker.process(), SIGSTOP) == 0);  // for good
  std::string line;
  try {
    const nlohmann::json question{{"ask", "check"}, {"family", faulty_family().name()}, {"seed", 3}};
    static_cast<void>(worker.ask(question, 0.05));
  } catch (const WorkerLost& lost) {
    CHECK(lost.status() == Status::hang);
    line = lost.what();
  }
  CHECK(is_starvation(line));
  CHECK(line.find("did not end within 0.25 s") != std::string::npos);
}

TEST_CASE("a worker that somebody kills is replaced, whoever is running or compiling, and nobody is blamed") {
  Worker worker(options());
  IsolatedEvaluator evaluator(worker, faulty_family(), 3);
  const auto runner = evaluator.prepare(configuration("good", 2), problem(64), 32);
  CHECK(runner->time() > 0.0);
  for (int times = 0; times < 5; ++times) {
    const std::int64_t before = worker.generation();
    REQUIRE(::kill(worker.process(), SIGKILL) == 0);
    CHECK(runner->time() > 0.0);
    CHECK(worker.generation() == before + 1);
    REQUIRE(::kill(worker.process(), SIGKILL) == 0);
    CHECK(evaluator.verify(configuration("good", 2), problem(64), VerificationExtent::all).status == Status::correct);
    REQUIRE(::kill(worker.process(), SIGKILL) == 0);
    CHECK_FALSE(evaluator.provenance().tool.empty());
    const auto compilation = evaluator.compile({configuration("good", 1), configuration("even")}, problem(64));
    REQUIRE(::kill(worker.process(), SIGKILL) == 0);
    int compiled = 0;
    while (const auto done = compilation->next()) compiled += done->compiled ? 1 : 0;
    CHECK(compiled == 2);
  }
  // Who only asks whether all is compiled has it compiled again, too.
  const auto compilation = evaluator.compile({configuration("good", 1), configuration("even")}, problem(64));
  REQUIRE(::kill(worker.process(), SIGKILL) == 0);
  const auto late = stop_after(60.0);
  while (!compilation->done() && !late()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CHECK(compilation->done());
  CHECK(compilation->next()->compiled);
  CHECK(compilation->next()->compiled);
  CHECK_FALSE(compilation->next());
  REQUIRE(::kill(worker.process(), SIGKILL) == 0);
  evaluator.check_device();
}

TEST_CASE("a compiler that crashes fails the one configuration that makes it crash") {
  WorkerOptions crashing = options();
  crashing.device = "crashing compiler";
  Worker worker(crashing);
  IsolatedEvaluator evaluator(worker, faulty_family(), 3);
  const std::vector<Configuration> all{configuration("good", 1), configuration("good", 2), configuration("even"),
                                       configuration("good", 4), configuration("outside")};
  const auto compilation = evaluator.compile(all, problem(64));
  std::map<std::string, bool> compiled;
  while (const auto done = compilation->next()) {
    CHECK(compiled.emplace(all.at(done->index).text(), done->compiled).second);
    if (!done->compiled) CHECK(done->log.find("signal 6") != std::string::npos);
  }
  REQUIRE(compiled.size() == all.size());
  for (const auto& [text, good] : compiled) CHECK(good == (text != "kind=even work=1"));
  CHECK(evaluator.prepare(all[0], problem(64), 32)->time() > 0.0);
}

TEST_CASE("killed at random moments, a search still finds the winner") {
  WorkerOptions roomy = options();
  roomy.memory_bytes = 0;  // what the driver of a GPU needs grows with the kernels that are loaded
  Worker worker(roomy);
  IsolatedEvaluator evaluator(worker, sonfin::train_family(), 5);
  const TemporaryStore temporary;
  StopCondition stop({.seconds = {}, .evaluations = 12});
  std::atomic<pid_t> victim = worker.process();
  std::atomic<bool> over = false;
  std::atomic<int> kills = 0;
  std::thread killer([&] {
    for (unsigned i = 0; !over; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(37 + i * 29 % 101));
      const pid_t process = victim.exchange(-1);
      if (process > 0 && ::kill(process, SIGKILL) == 0) ++kills;
    }
  });
  TunerCallbacks callbacks;
  callbacks.progress = [&](const TuningProgress&) { victim = worker.process(); };
  const auto results =
      Tuner(evaluator, temporary.store, {.seed = 5}, callbacks).tune({sonfin::problem(12, 7, 3)}, stop);
  over = true;
  killer.join();
  REQUIRE(results.size() == 1);
  for (const Measurement& measurement : temporary.store.measurements()) {
    if (!measurement.message.empty()) MESSAGE(measurement.configuration << ": " << measurement.message);
  }
  CHECK(results[0].profile);
  CHECK(results[0].statuses.count(Status::crash) == 0);
  CHECK(kills > 0);
}

TEST_CASE("a device that cannot be opened is one error") {
  WorkerOptions wrong = options();
  wrong.device = "abacus";
  CHECK_THROWS_WITH_AS(Worker{wrong}, doctest::Contains("unknown device 'abacus'"), Error);
  wrong = options();
  wrong.command = {"/bin/false"};
  CHECK_THROWS_AS(Worker{wrong}, Error);
  wrong.command = {"/there/is/no/such/program"};
  CHECK_THROWS_AS(Worker{wrong}, Error);
}
