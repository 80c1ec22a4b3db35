#include "heddle/tuner/tune_kernel.hpp"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/buffer_difference.hpp"
#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/own/kernel_review.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/device/cpu/scratch_folder.hpp"
#include "heddle/tuner/example_evaluator.hpp"
#include "heddle/tuner/worker/isolated_evaluator.hpp"
#include "heddle/tuner/worker/serve.hpp"

namespace heddle {

std::vector<TuningResult> tune(const KernelDefinition& kernel, std::vector<Problem> problems,
                               const MakeExample& example, const CheckRun& check, const Budget& budget,
                               const TuneKernelOptions& options) {
  if (options.worker == TuneKernelOptions().worker && !can_run_worker()) {
    throw Error(ErrorKind::usage, "this program cannot be its own worker: main() has to begin with run_worker()");
  }
  const ScratchFolder folder;
  FamilyRegistry families = builtin_families();
  const KernelFamily& family = families.add(describe(
      kernel, {.folder = example ? folder.path().string() : std::string(), .checked_elsewhere = check != nullptr}));
  for (const Problem& problem : problems) {
    if (const auto why = misfit(problem, family.axes())) {
      throw Error(ErrorKind::usage, fmt::format("{} problem '{}': {}", family.name(), problem.text(), *why));
    }
  }

  Worker worker({.command = options.worker,
                 .device = options.device,
                 .families = families.descriptions(),
                 .cold_cache = options.tuner.cold_cache,
                 .stop = options.stop});
  if (options.tuner.objective) options.tuner.objective->check(family, worker.identity());
  IsolatedEvaluator measured(worker, family, options.tuner.seed);
  ExampleEvaluator evaluator(measured, folder.path().string(), options.tuner.seed, example, check);
  ProfileStore store(can_be_timed(worker.identity().backend) ? options.profiles : ":memory:",
                     ProfileStore::Access::read_write, families);
  if (problems.empty()) problems = family.default_problems(worker.identity());
  for (const Problem& problem : problems) {
    check_kernel(*family.defined(), worker.identity(), problem);
  }
  StopCondition stop(budget, options.stop);
  return Tuner(evaluator, store, options.tuner, options.callbacks).tune(problems, stop);
}

CheckRun agrees_with(const KernelDefinition& kernel, HostReference reference) {
  return [kernel, reference = std::move(reference)](const KernelRun& run) -> Accuracy {
    Accuracy accuracy{.accepted = true, .worst_error = 0.0, .message = {}};
    const HostImage outputs = reference(run.problem, run.before);
    for (const KernelArgument& argument : kernel.arguments) {
      if (!argument.is_compared() || outputs.contains(argument.name)) continue;
      throw Error(ErrorKind::usage,
                  fmt::format("kernel {}: the reference lacks the output {}", kernel.name, in_quotes(argument.name)));
    }
    for (const auto& [name, expected] : outputs) {
      const auto argument = std::ranges::find(kernel.arguments, name, &KernelArgument::name);
      const auto found = run.after.find(name);
      if (argument == kernel.arguments.end() || found == run.after.end()) {
        throw Error(ErrorKind::usage,
                    fmt::format("kernel {}: the reference has {}, which is no output", kernel.name, in_quotes(name)));
      }
      const double error = buffer_difference(argument->type, found->second, expected, kernel.absolute_tolerance);
      accuracy.worst_error = std::max(accuracy.worst_error, error);
      if (error <= kernel.tolerance) continue;
      accuracy.accepted = false;
      accuracy.message = fmt::format("{} is not that of the host's reference: relative error {:.3g}, allowed {:.3g}",
                                     in_quotes(name), error, kernel.tolerance);
    }
    return accuracy;
  };
}

}  // namespace heddle
