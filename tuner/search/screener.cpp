#include "heddle/tuner/search/screener.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "heddle/runtime/device/device_failure.hpp"

namespace heddle {

namespace {

Observation outcome_of(const Screened& screened) {
  return {.status = screened.measurement.status, .cost = screened.cost};
}

}  // namespace

Observation Screener::measure(std::size_t configuration, const Compilation::Done& done) {
  Screened screened{.measurement = context_.journal.blank(context_.problem.at(configuration), samples_),
                    .cost = std::nullopt};
  screened.measurement.compile_seconds = done.seconds;
  if (done.compiled) {
    time(configuration, screened);
  } else {
    screened.measurement.status = Status::compilation;
    screened.measurement.message = first_complaint(done.log);
  }
  if (verdicts_.may_become_reference(outcome_of(screened))) verify(configuration, screened);
  const Observation outcome = outcome_of(screened);
  screened.measurement.cost = screened.cost;
  context_.journal.add(std::move(screened.measurement));
  return outcome;
}

Observation Screener::remember(std::size_t configuration, const Recollection& known) {
  if (!verdicts_.may_become_reference(known.observation)) return known.observation;
  if (known.own) {  // verified by this run: if that had failed, the journal would have returned the failure
    verdicts_.set_reference(*known.observation.cost);
    return known.observation;
  }
  Screened screened{.measurement = context_.journal.blank(context_.problem.at(configuration), samples_),
                    .cost = known.observation.cost};
  screened.measurement.status = known.observation.status;
  verify(configuration, screened);
  const Observation outcome = outcome_of(screened);
  if (outcome.status != known.observation.status) context_.journal.add(std::move(screened.measurement));
  return outcome;
}

void Screener::time(std::size_t configuration, Screened& screened) {
  const SearchedProblem& problem = context_.problem;
  const Configuration& candidate = problem.at(configuration);
  const Stopwatch stopwatch(context_.effort.measuring, context_.stop);
  if (samples_ == 0) find_samples(candidate);
  screened.measurement.samples = samples_;
  // A named configuration is there for comparison. It may be far slower and is not stopped, so it gets fewer samples.
  if (problem.is_protected(configuration) && !problem.is_untuned(configuration)) {
    screened.measurement.samples = std::min(samples_, choose_samples(context_.evaluator, candidate, problem.problem()));
  }
  ScreeningLimits limits{.repetitions = context_.options.screening_repetitions, .prune_above = std::nullopt};
  if (verdicts_.reference() && !problem.is_protected(configuration)) {
    limits.prune_above = *verdicts_.reference() * context_.options.prune_factor;
    if (!context_.evaluator.shares_processor() && std::isfinite(context_.options.prune_factor)) {
      limits.settle_above = *verdicts_.reference() * context_.options.finalist_factor;
    }
  }
  screened = screen(context_.evaluator, candidate, std::move(screened.measurement), limits);
}

void Screener::verify(std::size_t configuration, Screened& screened) {
  const Verdict verdict = verdicts_.verify_as_reference(configuration, *screened.cost);
  if (verdict.status == Status::correct) return;
  screened.measurement.status = verdict.status;
  screened.measurement.message = verdict.message;
  screened.measurement.worst_error = verdict.worst_error;
  screened.measurement.times.clear();
  screened.cost.reset();
}

double Screener::pilot_limit(double seconds_left) {
  constexpr double kPart = 0.25, kLeast = 5.0;
  return std::max(kLeast, kPart * seconds_left);
}

void Screener::find_samples(const Configuration& configuration) {
  const StopCondition& stop = context_.stop;
  const auto left = stop.seconds_left_in_total();
  const double seconds = pilot_limit(left.value_or(0.0)), start = stop.now();
  const auto too_late = [&] { return left && stop.now() - start > seconds; };
  try {
    samples_ = choose_samples(context_.evaluator, configuration, context_.problem.problem(), too_late);
  } catch (const Interrupted&) {
    if (!stop.interrupted()) out_of_time_ = seconds;
    throw;
  }
}

}  // namespace heddle
