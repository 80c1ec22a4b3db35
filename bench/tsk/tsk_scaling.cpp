// Batch least squares and gradient in large sizes, each alone: rows, rules, inputs, and rows that come in pieces from
// the host's memory. Of every problem the configurations that `--configurations` names: seconds for an iteration, and
// the error of the last one, which all configurations of a problem must agree on. With --verify each is compared with
// the float64 reference on as many rows as that does in seconds. Prints JSON.
//
// With --clocks a CUDA device prints lines "stage_clocks ..." before that: cycles of the stages of scheme = resident,
// of the first block and one in the middle. Stages: 0 antecedents into registers, 1 accumulate, 2 exchange of products,
// 3 solve, 4 descend, 5 exchange of slopes, 6 step. The kernel is then another one: times of such a run do not count.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "heddle/bench/common/problem_text.hpp"
#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/bench/tsk/tsk_run.hpp"
#include "heddle/kernels/tsk/train.hpp"
#include "heddle/tuner/statistics.hpp"
#include "heddle/tuner/verifier.hpp"

namespace heddle {
namespace {

using Json = nlohmann::json;

struct Options {
  std::string device;
  std::vector<std::string> problems, configurations;
  int order = 0, iterations = 8, repetitions = 2;
  bool verify = false, clocks = false;
};

int run(const Options& options) {
  const auto device = open_device(options.device);
  const KernelFamily& family = tsk::train_family(options.order);
  const SearchSpace space = family.space(device->identity());
  std::optional<TemplateSource> clocked;
  if (options.clocks) {
    const TemplateSource& usual = family.source(device->identity().backend);
    CompileOptions with_clocks = usual.options();
    with_clocks.extra.emplace_back("-DHEDDLE_STAGE_CLOCKS");
    clocked.emplace(usual.files(), with_clocks);
  }
  Json rows = Json::array();
  int result = 0;
  for (const Problem& problem : bench::problems_of(family, options.problems)) {
    tsk::Workload work = tsk::timing_workload(problem, options.order, 1);
    work.control.end = options.iterations;
    std::vector<Configuration> configurations;
    configurations.reserve(options.configurations.size());
    for (const std::string& text_of_configuration : options.configurations) {
      configurations.push_back(text_of_configuration == "default"
                                   ? family.default_configuration(device->identity(), problem)
                                   : space.parse(text_of_configuration));
    }
    for (const Configuration& configuration : configurations) {
      Json row{{"problem", problem.text()}, {"configuration", configuration.text()}};
      try {
        if (const auto violated = space.violated(configuration, problem)) {
          row["status"] = "constraint";
          row["message"] = *violated;
        } else {
          if (options.verify) {
            const Verdict verdict = Verifier(*device, family, 1).verify(configuration, problem);
            row["status"] = text(verdict.status);
            row["worst_error"] = verdict.worst_error;
            row["message"] = verdict.message;
          }
          const bench::Stopwatch watch;
          bench::TskRun timed(*device, configuration, work, options.iterations, clocked ? &*clocked : nullptr);
          row["seconds_to_prepare"] = watch.seconds();
          std::vector<double> seconds;
          seconds.reserve(static_cast<std::size_t>(options.repetitions));
          for (int i = 0; i < options.repetitions; ++i) seconds.push_back(timed.time(options.iterations));
          const tsk::Progress progress = timed.progress();
          row["milliseconds_per_iteration"] = 1e3 * median(seconds) / options.iterations;
          row["iterations"] = progress.iteration;
          row["last_error"] = progress.recent[0];
          row["ridges"] = progress.ridges;
        }
      } catch (const DeviceFailure& failure) {
        row["status"] = text(failure.status());
        row["message"] = failure.what();
        result = 1;
      }
      std::cerr << row.dump() << "\n";
      rows.push_back(std::move(row));
    }
  }
  std::cout << Json{{"device", device->label()},
                    {"name", device->identity().name},
                    {"family", family.name()},
                    {"rows", rows}}
                   .dump(1)
            << "\n";
  return result;
}

}  // namespace
}  // namespace heddle

int main(int count, char** values) {
  heddle::Options options;
  CLI::App app("Batch least squares and gradient in large sizes");
  app.add_option("--device", options.device);
  app.add_option("--problems", options.problems, "rules x inputs x outputs x rows: 35x2x1x10000000,...")
      ->delimiter(',')
      ->required();
  app.add_option("--configurations", options.configurations, "as heddle writes them, or default; separated by commas")
      ->delimiter(',')
      ->required();
  app.add_option("--order", options.order, "of the consequents: 0 or 1")->check(CLI::Range(0, 1));
  app.add_option("--iterations", options.iterations, "at least 8");
  app.add_option("--repetitions", options.repetitions);
  app.add_flag("--verify", options.verify, "compare with the reference too");
  app.add_flag("--clocks", options.clocks, "cycles of the stages of resident blocks, on a CUDA device");
  CLI11_PARSE(app, count, values);
  return heddle::bench::exit_code("tsk_scaling", [&] { return heddle::run(options); });
}
