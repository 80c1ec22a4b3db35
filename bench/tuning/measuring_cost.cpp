// What it takes a tuning run to measure a configuration, step by step, compilation left out.
//
//   measuring_cost --device cuda:0 --family sonfin-train --worker build/release/cli/heddle --problems
//   32x16x1,1024x1024x10
//
// Without --problems: every ninth of the family's default grid. --worker: in a process of the program's own, as `heddle
// tune` measures. For the untuned default, in milliseconds: "pilot", how much a repetition needs; "prepare" and
// "again", the same configuration made ready twice; "first", the first repetition; "repetition", the median of nine,
// and "kernels", what of it the kernels take; "resources", "guards" and "end", what follows. Prints one JSON document.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/bench/common/problem_text.hpp"
#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/statistics.hpp"
#include "heddle/tuner/worker/isolated_evaluator.hpp"

namespace heddle {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kEvery = 9;
constexpr int kRepetitions = 9;

std::string cost_of(Evaluator& evaluator, const Problem& problem) {
  const Configuration untuned = evaluator.family().default_configuration(evaluator.device(), problem);
  bench::compile(evaluator, {untuned}, problem);
  std::string parts;
  const auto add = [&](const char* what, double seconds) {
    parts += fmt::format(", \"{}\": {:.2f}", what, 1e3 * seconds);
  };
  const auto part = [&](const char* what, const auto& step) { add(what, bench::seconds_of(step)); };

  std::int64_t samples = 0;
  part("pilot", [&] { samples = choose_samples(evaluator, untuned, problem); });
  std::unique_ptr<Runner> runner;
  part("prepare", [&] { runner = evaluator.prepare(untuned, problem, samples); });
  part("first", [&] { (void)runner->time(); });
  std::vector<double> repetitions, kernels;
  for (int i = 0; i < kRepetitions; ++i) {
    double microseconds = 0.0;
    repetitions.push_back(bench::seconds_of([&] { microseconds = runner->time(); }));
    kernels.push_back(1e-6 * microseconds * static_cast<double>(samples));
  }
  add("repetition", median(repetitions));
  add("kernels", median(kernels));
  part("resources", [&] { (void)runner->resources(); });
  part("guards", [&] { runner->check_guards(); });
  part("end", [&] { runner.reset(); });
  part("again", [&] { runner = evaluator.prepare(untuned, problem, samples); });
  return fmt::format("  {{\"problem\": \"{}\", \"samples\": {}{}}}", problem.text(), samples, parts);
}

int run(const std::string& label, const std::string& name, const std::string& program,
        const std::vector<std::string>& texts) {
  const KernelFamily& family = builtin_families().at(name);
  std::unique_ptr<Device> device;
  std::optional<Worker> worker;
  std::unique_ptr<Evaluator> evaluator;
  if (program.empty()) {
    device = open_device(label);
    evaluator = std::make_unique<DeviceEvaluator>(*device, family, kSeed);
  } else {
    worker.emplace(WorkerOptions{.command = {program, "worker"}, .device = label});
    evaluator = std::make_unique<IsolatedEvaluator>(*worker, family, kSeed);
  }
  std::vector<Problem> problems = bench::problems_of(family, texts);
  if (texts.empty()) {
    const std::vector<Problem> all = family.default_problems(evaluator->device());
    for (std::size_t i = 0; i < all.size(); i += kEvery) problems.push_back(all[i]);
  }
  std::string records;
  for (const Problem& problem : problems) {
    records += (records.empty() ? "" : ",\n") + cost_of(*evaluator, problem);
  }
  fmt::print("{{\"device\": \"{}\", \"family\": \"{}\", \"worker\": {}, \"problems\": [\n{}\n]}}\n",
             evaluator->device().text(), name, !program.empty(), records);
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int count, char** values) {
  std::string device, family = "sonfin-train", worker;
  std::vector<std::string> problems;
  CLI::App app("What it takes a tuning run to measure a configuration");
  app.add_option("--device", device, "cuda:N or cpu; the best one if left out");
  app.add_option("--family", family, "kernel family");
  app.add_option("--worker", worker, "heddle, to measure in a process of its own");
  app.add_option("--problems", problems, "sizes in the order of the family's axes: 640x16x1,...")->delimiter(',');
  CLI11_PARSE(app, count, values);
  return heddle::bench::exit_code("measuring_cost", [&] { return heddle::run(device, family, worker, problems); });
}
