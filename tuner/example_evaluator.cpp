#include "heddle/tuner/example_evaluator.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/tuner/verifier.hpp"

namespace heddle {

ExampleEvaluator::ExampleEvaluator(Evaluator& inner, std::string folder, std::uint64_t seed, const MakeExample& example,
                                   const CheckRun& check)
    : inner_(inner), folder_(std::move(folder)), seed_(seed), example_(example), check_(check) {}

void ExampleEvaluator::save(const Problem& problem) {
  if (!example_ || !saved_.insert(problem).second) return;
  save_example(folder_, family(), problem, device(), example_(problem));
}

std::unique_ptr<Runner> ExampleEvaluator::prepare(const Configuration& configuration, const Problem& problem,
                                                  std::int64_t samples) {
  save(problem);
  return inner_.prepare(configuration, problem, samples);
}

Verdict ExampleEvaluator::verify(const Configuration& configuration, const Problem& problem,
                                 VerificationExtent extent) {
  std::optional<Problem> awkward;
  if (extent == VerificationExtent::all) awkward = awkward_problem(family(), device(), configuration, problem);
  save(problem);
  if (awkward) save(*awkward);
  Verdict verdict = inner_.verify(configuration, problem, extent);
  if (!check_) return verdict;
  if (verdict.status == Status::correct) verdict = checked(configuration, problem);
  if (verdict.status != Status::correct || !awkward) return verdict;
  Verdict other = checked(configuration, *awkward);
  other.worst_error = std::max(other.worst_error, verdict.worst_error);
  return other;
}

Verdict ExampleEvaluator::checked(const Configuration& configuration, const Problem& problem) {
  const std::string key = configuration.text() + ", " + problem.text();
  if (const auto known = verdicts_.find(key); known != verdicts_.end()) return known->second;
  Verdict verdict;
  try {
    const HostImage after = inner_.outcome(configuration, problem, {});
    const SharedImage before =
        example_ ? example_(problem) : family().trial(configuration, problem, device(), 1, seed_).initial;
    const Accuracy accuracy =
        check_({.problem = problem, .configuration = configuration, .before = *before, .after = after});
    verdict.worst_error = accuracy.worst_error;
    if (!accuracy.accepted) {
      verdict.status = Status::wrong_result;
      verdict.message = fmt::format("{}: {}", problem.text(),
                                    accuracy.message.empty() ? "refused by the program's check" : accuracy.message);
    }
  } catch (const DeviceFailure& failure) {
    verdict = {.status = failure.status(), .worst_error = 0.0, .message = failure.what()};
  }
  return verdicts_[key] = verdict;
}

Verdict ExampleEvaluator::verify_timed_run(const Configuration& configuration, const Problem& problem,
                                           std::int64_t samples, const Configuration& untuned) {
  save(problem);
  return inner_.verify_timed_run(configuration, problem, samples, untuned);
}

HostImage ExampleEvaluator::outcome(const Configuration& configuration, const Problem& problem,
                                    const BufferNames& names) {
  save(problem);
  return inner_.outcome(configuration, problem, names);
}

}  // namespace heddle
