// A kernel of tests/described/kernels/, ready to be tuned on the emulated device.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/own/kernel_file.hpp"
#include "heddle/tuner/tuner.hpp"
#include "heddle/tuner/worker/isolated_evaluator.hpp"
#include "placed.hpp"

namespace heddle::test {

struct DescribedKernel {
  explicit DescribedKernel(const KernelDefinition& definition)
      : family(dynamic_cast<const DefinedFamily&>(families.add(describe(definition)))),
        problems(family.definition().problems) {}
  explicit DescribedKernel(const std::string& name)
      : DescribedKernel(read_kernel_file(std::string(HEDDLE_DESCRIBED "/") + name + ".json")) {}

  [[nodiscard]] WorkerOptions worker() const {
    return {.command = {worker_program()}, .device = "emulator", .families = families.descriptions()};
  }
  /// Measured in a worker process.
  [[nodiscard]] std::vector<TuningResult> tune(ProfileStore& store, std::int64_t evaluations,
                                               const TunerOptions& options = {}) const {
    Worker process(worker());
    IsolatedEvaluator evaluator(process, family, options.seed);
    StopCondition stop({.seconds = {}, .evaluations = evaluations});
    return Tuner(evaluator, store, options).tune(problems, stop);
  }

  FamilyRegistry families = builtin_families();
  const DefinedFamily& family;
  std::vector<Problem> problems;
};

}  // namespace heddle::test
