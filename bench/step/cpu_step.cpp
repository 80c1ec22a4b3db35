// How long one online training step takes on this CPU: a plain loop, the untuned default, what the profiles choose, and
// the same on one thread. All are measured in turns in one run, so that whatever else the machine does meets them
// alike.
//
//   cpu_step [--repetitions N] [--profiles FILE] [--busy] [RULESxDIMxOUTPUTS ...]      one JSON document on stdout
//
// --busy: a second time beside a process that always has something to do. Each is then measured for a tenth of a second
// at a time, in which the scheduler changes its mind often, and launched as in training: with fewer threads where that
// is better.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "heddle/bench/common/problem_text.hpp"
#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/bench/common/thread_count.hpp"
#include "heddle/bench/common/vintage.hpp"
#include "heddle/bench/sharing/busy_process.hpp"
#include "heddle/bench/step/plain_step.hpp"
#include "heddle/kernels/sonfin/comparison.hpp"
#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/kernels/sonfin/verification_workload.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"
#include "heddle/runtime/device/cpu/stolen_time.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {
namespace {

constexpr std::int64_t kSamples = 256;
constexpr std::uint64_t kSeed = 1;
constexpr int kBusyTurns = 21;
constexpr double kBusySeconds = 0.1;

struct Subject {
  std::string name;
  std::function<double()> quiet, busy;  // seconds of one run from the same state
  std::vector<double> times = {};       // microseconds per sample
};

/// `least`: seconds that one turn lasts. A turn in which a hypervisor took time from the cores is repeated, at most
/// four times `turns` turns. Returns how many were.
int measure(std::vector<Subject>& candidates, int turns, double least, std::function<double()> Subject::*run) {
  for (Subject& candidate : candidates) candidate.times.clear();
  int repeated = 0;
  for (int i = 0; i < turns; ++i) {
    StolenTime stolen;
    for (Subject& candidate : candidates) {
      double seconds = 0.0, samples = 0.0;
      do {
        seconds += (candidate.*run)();
        samples += kSamples;
      } while (seconds < least);
      candidate.times.push_back(seconds * 1e6 / samples);
    }
    if (stolen.disturbed() && repeated < 4 * turns) {
      for (Subject& candidate : candidates) candidate.times.pop_back();
      ++repeated;
      --i;
    }
  }
  return repeated;
}

Subject plain_loop(const sonfin::Workload& work) {
  const auto step = std::make_shared<bench::PlainStep>(work);
  const auto run = [step] {
    step->reset();
    return bench::seconds_of([&] { step->run(); });
  };
  return {"plain loop", run, run};
}

/// On a device, and so with threads, of its own.
Subject configured(const Configuration& configuration, const Problem& problem) {
  const KernelFamily& family = sonfin::train_family();
  const std::shared_ptr<Device> device = open_cpu_device();
  Trial trial = family.trial(configuration, problem, device->identity(), kSamples, kSeed);
  const CompileOutcome outcome = compile_one(*device, {&family.source("cpu"), trial.plan.kernels});
  const std::shared_ptr<Execution> execution = device->prepare(trial.plan, outcome.binary);
  for (const auto& [name, bytes] : *trial.initial) execution->memory(name).write(bytes);
  execution->save();
  return {configuration.text(),
          [device, execution] {
            execution->restore();
            return execution->time();
          },
          [device, execution] {
            execution->restore();
            return bench::seconds_of([&] { execution->launch(); });
          }};
}

/// Whether the plain loop does the same as the float64 reference.
bool plain_loop_is_right(const Problem& problem) {
  for (const sonfin::OptionSet& set : sonfin::option_sets()) {
    const sonfin::Workload work = sonfin::verification_workload(problem, set, problem.at("rules"), 44, kSeed);
    bench::PlainStep step(work);
    step.run();
    const Accuracy accuracy = sonfin::compare_training(sonfin::expectation(work), step.network(), step.progress());
    if (accuracy.accepted) continue;
    fmt::print(stderr, "plain loop at {}, {}: {}\n", problem.text(), set.text(), accuracy.message);
    return false;
  }
  return true;
}

std::string json(const Subject& candidate) {
  return fmt::format(R"({{"name": "{}", "median_us": {:.3f}, "fastest_us": {:.3f}}})", candidate.name,
                     median(candidate.times), *std::min_element(candidate.times.begin(), candidate.times.end()));
}

/// "default": {...}, "tuned": {...}, ..., and what the table wants to know.
std::string results(const std::vector<std::string>& roles, const std::vector<Subject>& candidates, int repeated) {
  std::string text;
  for (std::size_t i = 0; i < roles.size(); ++i) text += fmt::format(R"("{}": {}, )", roles[i], json(candidates[i]));
  const auto ratio = [&](std::size_t over, std::size_t under) {
    return median(candidates[over].times) / median(candidates[under].times);
  };
  return text +
         fmt::format(
             R"("plain_over_default": {:.2f}, "tuned_over_default": {:.2f}, "tuned_over_one_thread": {:.2f}, "turns_repeated": {})",
             ratio(0, 1), ratio(2, 1), ratio(2, 3), repeated);
}

struct Options {
  int repetitions = 41;
  bool busy = false;
  std::string profiles, commit;
  std::vector<std::string> problems{"642x16x26", "608x256x10", "500x617x26"};
};

int run(const Options& options) {
  const auto cpu = open_cpu_device();
  const DeviceIdentity device = cpu->identity();
  const KernelFamily& family = sonfin::train_family();
  const Knowledge known =
      options.profiles.empty() ? Knowledge() : ProfileStore(options.profiles, ProfileStore::Access::read).knowledge();
  const Dispatcher dispatcher(device, family, known);
  bool right = true;
  std::string records;
  for (const Problem& problem : bench::problems_of(family, options.problems)) {
    right = plain_loop_is_right(problem) && right;
    const Candidate& chosen = dispatcher.choose(problem);
    const std::vector<std::string> roles{"plain", "default", "tuned", "one_thread"};
    std::vector<Subject> all{plain_loop(sonfin::timing_workload(problem, kSamples, kSeed)),
                             configured(family.default_configuration(device, problem), problem),
                             configured(chosen.configuration, problem),
                             configured(bench::with_threads(chosen.configuration, 1), problem)};
    const int quiet_repeated = measure(all, options.repetitions, 0.0, &Subject::quiet);
    records +=
        fmt::format("{}  {{\"problem\": \"{}\", \"tier\": \"{}\",\n   \"quiet\": {{{}}}", records.empty() ? "" : ",\n",
                    problem.text(), text(chosen.tier), results(roles, all, quiet_repeated));
    if (options.busy) {
      const bench::BusyProcess other;
      const int busy_repeated = measure(all, kBusyTurns, kBusySeconds, &Subject::busy);
      records += fmt::format(",\n   \"busy\": {{{}}}", results(roles, all, busy_repeated));
    }
    records += "}";
  }
  fmt::print(
      "{{\"device\": \"{}\", \"date\": \"{}\", \"commit\": \"{}\", \"templates\": {}, \"choices\": {},\n \"samples\": "
      "{}, "
      "\"repetitions\": {}, \"steps\": [\n{}\n]}}\n",
      device.text(), cpu->provenance().date, options.commit, bench::template_digests({&family}, device.backend).dump(),
      bench::choice_digests({&family}, device.backend).dump(), kSamples, options.repetitions, records);
  return right ? 0 : 1;
}

}  // namespace
}  // namespace heddle

int main(int count, char** arguments) {
  heddle::Options options;
  CLI::App app("One online training step on this CPU", "cpu_step");
  app.add_option("--repetitions", options.repetitions, "turns, of which the median counts")->check(CLI::PositiveNumber);
  app.add_option("--profiles", options.profiles, "profile database");
  app.add_option("--commit", options.commit, "recorded beside the results");
  app.add_flag("--busy", options.busy, "a second time beside a process that always has something to do");
  app.add_option("problems", options.problems, "RULESxDIMxOUTPUTS");
  CLI11_PARSE(app, count, arguments);
  return heddle::bench::exit_code("cpu_step", [&] { return heddle::run(options); });
}
