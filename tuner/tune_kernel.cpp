#include "heddle/tuner/tune_kernel.hpp"

#include <utility>

#include "fmt/format.h"
#include "heddle/kernels/error.hpp"
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

  Worker worker(
      {.command = options.worker, .device = options.device, .families = families.descriptions(), .stop = options.stop});
  IsolatedEvaluator measured(worker, family, options.tuner.seed);
  ExampleEvaluator evaluator(measured, folder.path().string(), example, check);
  ProfileStore store(can_be_timed(worker.identity().backend) ? options.profiles : ":memory:",
                     ProfileStore::Access::read_write, families);
  if (problems.empty()) problems = family.default_problems(worker.identity());
  StopCondition stop(budget, options.stop);
  return Tuner(evaluator, store, options.tuner, options.callbacks).tune(problems, stop);
}

}  // namespace heddle
