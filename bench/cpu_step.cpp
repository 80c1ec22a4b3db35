// How long one online training step takes on this CPU: a plain loop, the default configuration, the best of the space.
// All are measured in turns in one run, so that whatever else the machine does meets them alike.
//
//   cpu_step [--repetitions N] [RULESxDIMxOUTPUTS ...]      one JSON document on stdout
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/bench/plain_step.hpp"
#include "heddle/kernels/sonfin/comparison.hpp"
#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/kernels/sonfin/verification_workload.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"

namespace heddle {
namespace {

constexpr std::int64_t kSamples = 256;
constexpr std::uint64_t kSeed = 1;

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

struct Candidate {
  std::string name;
  std::function<double()> seconds;  // of one run from the same state
  std::vector<double> times;        // microseconds per sample
};

void measure(const std::vector<Candidate*>& candidates, int repetitions) {
  for (int i = 0; i < repetitions; ++i) {
    for (Candidate* candidate : candidates) candidate->times.push_back(candidate->seconds() * 1e6 / kSamples);
  }
}

Candidate plain_loop(const sonfin::Workload& work) {
  const auto step = std::make_shared<bench::PlainStep>(work);
  return {"plain loop",
          [step] {
            step->reset();
            const auto start = std::chrono::steady_clock::now();
            step->run();
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
          },
          {}};
}

Candidate configured(Device& device, const Configuration& configuration, const Problem& problem) {
  const KernelFamily& family = sonfin::train_family();
  Trial trial = family.trial(configuration, problem, device.identity(), kSamples, kSeed);
  const CompileOutcome outcome = compile_one(device, {&family.source("cpu"), trial.plan.kernels});
  const std::shared_ptr<Execution> execution = device.prepare(trial.plan, outcome.binary);
  for (const auto& [name, bytes] : trial.initial) execution->memory(name).write(bytes);
  execution->save();
  return {configuration.text(),
          [execution] {
            execution->restore();
            return execution->time();
          },
          {}};
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

/// Every configuration a few times; those that look best are measured in full.
std::vector<Candidate> finalists(Device& device, const Problem& problem, std::size_t count) {
  const KernelFamily& family = sonfin::train_family();
  const std::vector<Configuration> all = family.space(device.identity()).enumerate(problem);
  std::vector<CompileRequest> requests;
  requests.reserve(all.size());
  for (const Configuration& c : all) {
    requests.push_back({&family.source("cpu"), family.plan(c, problem, device.identity(), kSamples).kernels});
  }
  const auto batch = device.compile(requests);
  while (batch->next()) continue;

  std::vector<std::pair<double, const Configuration*>> ranked;
  for (const Configuration& c : all) {
    Candidate candidate = configured(device, c, problem);
    measure({&candidate}, 5);
    ranked.emplace_back(*std::min_element(candidate.times.begin(), candidate.times.end()), &c);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<Candidate> best;
  for (std::size_t i = 0; i < std::min(count, ranked.size()); ++i) {
    best.push_back(configured(device, *ranked[i].second, problem));
  }
  return best;
}

std::string json(const Candidate& candidate) {
  return fmt::format(R"({{"name": "{}", "median_us": {:.3f}, "fastest_us": {:.3f}}})", candidate.name,
                     median(candidate.times), *std::min_element(candidate.times.begin(), candidate.times.end()));
}

Problem parse(std::string_view text) {
  std::int64_t sizes[3] = {};
  for (std::int64_t& size : sizes) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 1) throw Error(ErrorKind::usage, "expected RULESxDIMxOUTPUTS");
    text.remove_prefix(std::min(text.size(), static_cast<std::size_t>(end - text.data()) + 1));
  }
  return sonfin::problem(sizes[0], sizes[1], sizes[2]);
}

int main_(std::span<char*> arguments) {
  int repetitions = 41;
  std::vector<Problem> problems;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (std::string_view(arguments[i]) == "--repetitions" && i + 1 < arguments.size()) {
      repetitions = std::max(1, std::atoi(arguments[++i]));
    } else {
      problems.push_back(parse(arguments[i]));
    }
  }
  if (problems.empty()) problems = {parse("642x16x26"), parse("608x256x10"), parse("500x617x26")};

  const std::unique_ptr<Device> device = open_cpu_device();
  bool right = true;
  std::string records;
  for (const Problem& problem : problems) {
    right = plain_loop_is_right(problem) && right;
    Candidate plain = plain_loop(sonfin::timing_workload(problem, kSamples, kSeed));
    const auto chosen = sonfin::train_family().default_configuration(device->identity(), problem);
    Candidate standard = configured(*device, chosen, problem);
    std::vector<Candidate> tuned = finalists(*device, problem, 3);
    std::vector<Candidate*> all = {&plain, &standard};
    for (Candidate& candidate : tuned) all.push_back(&candidate);
    measure(all, repetitions);
    const Candidate& best = *std::min_element(tuned.begin(), tuned.end(), [](const Candidate& a, const Candidate& b) {
      return median(a.times) < median(b.times);
    });
    records += fmt::format(
        "{}  {{\"problem\": \"{}\", \"plain\": {}, \"default\": {}, \"best\": {},\n   \"default_ratio\": {:.2f}, "
        "\"best_ratio\": {:.2f}}}",
        records.empty() ? "" : ",\n", problem.text(), json(plain), json(standard), json(best),
        median(plain.times) / median(standard.times), median(plain.times) / median(best.times));
  }
  fmt::print("{{\"device\": \"{}\", \"samples\": {}, \"repetitions\": {}, \"steps\": [\n{}\n]}}\n",
             device->identity().text(), kSamples, repetitions, records);
  return right ? 0 : 1;
}

}  // namespace
}  // namespace heddle

int main(int count, char** arguments) {
  try {
    return heddle::main_(std::span(arguments, static_cast<std::size_t>(count)));
  } catch (const heddle::Error& error) {
    fmt::print(stderr, "cpu_step: {}\n", error.what());
    return static_cast<int>(error.kind());
  }
}
