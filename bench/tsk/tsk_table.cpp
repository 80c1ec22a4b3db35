// Batch least squares and gradient on the truck problem: 35 rules, order 0, so many iterations over grids of samples.
// For each size the default configuration, the published split, and the fastest of those tried: all that are resident,
// and a seeded sample of the rest of the space. What is told was verified against the float64 reference. The floor
// beside it is the arithmetic of the normal equations in float64 and of everything else in float32 at the rates given.
// With --reference nothing is timed: the error of the same iterations in float64 with LAPACK. Prints JSON.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/bench/common/vintage.hpp"
#include "heddle/bench/tsk/truck_workload.hpp"
#include "heddle/bench/tsk/tsk_run.hpp"
#include "heddle/kernels/tsk/reference.hpp"
#include "heddle/kernels/tsk/train.hpp"
#include "heddle/tuner/statistics.hpp"
#include "heddle/tuner/verifier.hpp"

namespace heddle {
namespace {

using Json = nlohmann::json;

struct Options {
  std::string device, commit;
  std::vector<int> points{16, 32, 64, 128, 256, 512, 1024};
  int iterations = 100, at_once = 50, sampled = 16, repetitions = 7;
  bool reference = false;
  double limit = 1e9;
  double float64_rate = 34e12, float32_rate = 67e12;  // operations per second: an H200
};

Json measure(Device& device, const std::string& name, const Configuration& configuration, const tsk::Workload& work,
             const Options& options) {
  Json row{{"name", name}, {"rows", work.control.rows}, {"configuration", configuration.text()}};
  try {
    const Verdict verdict = Verifier(device, tsk::constant_family(), 1).verify(configuration, bench::problem_of(work));
    row["status"] = text(verdict.status);
    row["worst_error"] = verdict.worst_error;
    row["message"] = verdict.message;
    bench::TskRun run(device, configuration, work, options.at_once);
    static_cast<void>(run.time(options.iterations));
    std::vector<double> seconds;
    for (int i = 0; i < options.repetitions; ++i) {
      seconds.push_back(run.time(options.iterations));
      // The published split takes seconds: two of them tell enough.
      if (i > 0 && seconds.back() > 1.0) break;
    }
    row["milliseconds"] = 1e3 * median(seconds);
    row["microseconds_per_iteration"] = 1e6 * median(seconds) / options.iterations;
    const tsk::Progress progress = run.progress();
    row["iterations"] = progress.iteration;
    row["best_error"] = progress.best_error;
    row["last_error"] = progress.recent[0];
  } catch (const DeviceFailure& failure) {
    row["status"] = text(failure.status());
    row["message"] = failure.what();
  }
  return row;
}

/// All resident configurations and a sample of the others, the fastest over one run of the plan first.
std::vector<Configuration> fastest(Device& device, const tsk::Workload& work, const Options& options) {
  constexpr std::size_t kTold = 2;
  const KernelFamily& family = tsk::constant_family();
  const Problem problem = bench::problem_of(work);
  std::vector<Configuration> all = family.space(device.identity()).enumerate(problem);
  std::erase_if(all, [](const Configuration& c) { return c.has("scheme") && c.word("scheme") == "sample"; });
  std::shuffle(all.begin(), all.end(), std::mt19937(1));
  const auto rest = std::stable_partition(
      all.begin(), all.end(), [](const Configuration& c) { return c.has("scheme") && c.word("scheme") == "resident"; });
  const auto kept = std::min<std::ptrdiff_t>(all.end() - rest, options.sampled);
  all.erase(rest + kept, all.end());

  std::vector<CompileRequest> requests;
  requests.reserve(all.size());
  for (const Configuration& c : all) {
    requests.push_back({&family.source(device.identity().backend), family.kernels(c, problem, device.identity())});
  }
  const auto batch = device.compile(std::move(requests));
  while (batch->next()) {
  }
  std::vector<std::pair<double, Configuration>> timed;
  double least = std::numeric_limits<double>::infinity();
  for (const Configuration& configuration : all) {
    try {
      bench::TskRun run(device, configuration, work, options.at_once);
      const double first = run.time(options.at_once);
      if (first > 3.0 * least) continue;
      timed.emplace_back(std::min(run.time(options.at_once), run.time(options.at_once)), configuration);
      least = std::min(least, timed.back().first);
    } catch (const DeviceFailure& failure) {
      std::cerr << configuration.text() << ": " << failure.what() << "\n";
    }
  }
  std::sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Configuration> best;
  for (std::size_t i = 0; i < std::min(timed.size(), kTold); ++i) best.push_back(timed[i].second);
  return best;
}

double floor_microseconds(double rows, const Options& options) {
  constexpr double kUnknowns = 35;
  const double normal = rows * kUnknowns * (kUnknowns + 3);            // float64
  const double rest = 2 * rows * kUnknowns * (4 * 2 + 8 + 4 + 5 * 2);  // float32: two passes
  return 1e6 * (normal / options.float64_rate + rest / options.float32_rate);
}

Json reference(const tsk::Workload& work, int iterations) {
  tsk::Reference reference(work.system);
  tsk::Progress progress = work.progress;
  for (int i = 0; i < iterations; ++i) reference.iterate({work.rows, work.targets}, work.control, progress);
  return {{"name", "float64 LAPACK"},
          {"rows", work.control.rows},
          {"iterations", progress.iteration},
          {"best_error", progress.best_error},
          {"last_error", progress.recent[0]}};
}

int run(const Options& options) {
  Json rows = Json::array();
  const auto tell = [&](Json row) {
    std::cerr << row.dump() << "\n";
    rows.push_back(std::move(row));
  };
  if (options.reference) {
    for (const int points : options.points) {
      tell(reference(bench::truck_workload(points, options.iterations), options.iterations));
    }
    std::cout << Json{{"iterations", options.iterations}, {"rows", rows}}.dump(1) << "\n";
    return 0;
  }
  const auto device = open_device(options.device);
  const bench::Stopwatch watch;
  for (const int points : options.points) {
    if (watch.seconds() > options.limit) {
      std::cerr << "left out, the limit was reached: " << points << " points\n";
      break;
    }
    const tsk::Workload work = bench::truck_workload(points, options.iterations);
    const Problem problem = bench::problem_of(work);
    const KernelFamily& family = tsk::constant_family();
    const auto add = [&](const std::string& name, const Configuration& configuration) {
      Json row = measure(*device, name, configuration, work, options);
      if (device->identity().backend == "cuda") {
        row["floor_microseconds_per_iteration"] = floor_microseconds(work.control.rows, options);
      }
      tell(std::move(row));
    };
    add("default", family.default_configuration(device->identity(), problem));
    for (const NamedConfiguration& named : family.named_configurations(device->identity())) {
      if (const auto configuration = named.configuration(problem)) add(named.name, *configuration);
    }
    for (const Configuration& configuration : fastest(*device, work, options)) add("found", configuration);
  }
  std::cout << Json{{"device", device->label()},
                    {"name", device->identity().name},
                    {"backend", device->identity().backend},
                    {"date", device->provenance().date},
                    {"commit", options.commit},
                    {"templates", bench::template_digests({&tsk::constant_family()}, device->identity().backend)},
                    {"choices", bench::choice_digests({&tsk::constant_family()}, device->identity().backend)},
                    {"iterations", options.iterations},
                    {"at_once", options.at_once},
                    {"rows", rows}}
                   .dump(1)
            << "\n";
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int count, char** values) {
  heddle::Options options;
  CLI::App app("Batch least squares and gradient on the truck problem");
  app.add_option("--device", options.device);
  app.add_option("--points", options.points, "grid points per input")->delimiter(',');
  app.add_option("--iterations", options.iterations, "a multiple of those at once");
  app.add_option("--at-once", options.at_once, "iterations of a run of the plan: 8 to 64");
  app.add_option("--sampled", options.sampled, "configurations of the space to try beside the resident ones");
  app.add_option("--repetitions", options.repetitions);
  app.add_option("--limit", options.limit,
                 "seconds after which no further size is begun; what was measured is printed");
  app.add_option("--commit", options.commit, "recorded beside the results");
  app.add_flag("--reference", options.reference, "the float64 reference alone");
  CLI11_PARSE(app, count, values);
  return heddle::bench::exit_code("tsk_table", [&] { return heddle::run(options); });
}
