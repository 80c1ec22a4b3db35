#include "heddle/tuner/search/verdicts.hpp"

#include <algorithm>
#include <utility>

namespace heddle {

namespace {

// A configuration whose cost is below this factor of the pruning reference is verified at once and becomes the
// reference. Smaller gains are not worth a verification.
constexpr double kNewReference = 0.95;

}  // namespace

bool Verdicts::may_become_reference(const Observation& outcome) const {
  return outcome.status == Status::unverified && (!reference_ || *outcome.cost < kNewReference * *reference_);
}

Verdict Verdicts::verify_as_reference(std::size_t configuration, double cost) {
  const Stopwatch stopwatch(context_.effort.verifying, context_.stop);
  const double start = context_.stop.now();
  Verdict verdict = context_.evaluator.verify(context_.problem.at(configuration), context_.problem.problem(),
                                              VerificationExtent::one_run);
  longest_seconds_ = std::max(longest_seconds_, context_.stop.now() - start);
  if (verdict.status == Status::correct) reference_ = cost;
  return verdict;
}

const Verdict& Verdicts::verify(std::size_t configuration, std::int64_t samples) {
  const auto found = verdicts_.find(configuration);
  if (found != verdicts_.end()) return found->second;
  const Stopwatch stopwatch(context_.effort.verifying, context_.stop);
  const Configuration& candidate = context_.problem.at(configuration);
  const Problem& problem = context_.problem.problem();
  Verdict verdict = context_.evaluator.verify(candidate, problem, VerificationExtent::all);
  if (verdict.status == Status::correct) {
    Verdict timed = context_.evaluator.verify_timed_run(candidate, problem, samples, context_.problem.untuned());
    if (timed.status != Status::correct) verdict = std::move(timed);
  }
  return verdicts_.emplace(configuration, std::move(verdict)).first->second;
}

void Verdicts::remember(std::size_t configuration, Verdict verdict) {
  verdicts_.insert_or_assign(configuration, std::move(verdict));
}

}  // namespace heddle
