#include "heddle/tuner/environment.hpp"

#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/stop_condition.hpp"

namespace heddle {

namespace {

constexpr double kSpinUp = 0.1;  // seconds

/// Keeps the device busy with the untuned default. Failures are ignored here; they show when the default is measured.
void spin_up(Evaluator& evaluator, const Problem& problem) {
  try {
    const Configuration configuration = evaluator.family().default_configuration(evaluator.device(), problem);
    const auto done = evaluator.compile({configuration}, problem)->next();
    if (!done || !done->compiled) return;
    const auto runner = evaluator.prepare(configuration, problem, usual_work(timed_work(evaluator, problem)));
    const auto clock = StopCondition::steady_clock();
    for (const double start = clock(); clock() - start < kSpinUp;) (void)runner->time();
  } catch (const DeviceFailure&) {
    evaluator.check_device();
  }
}

}  // namespace

Environment present_environment(Evaluator& evaluator, const Problem& problem, bool busy) {
  if (busy) spin_up(evaluator, problem);
  const Provenance now = evaluator.provenance();
  return {.driver = now.driver, .compiler = now.compiler, .clocks = busy ? now.clocks : ""};
}

}  // namespace heddle
