#include "heddle/tuner/search/screener.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/runtime/device/provenance.hpp"

namespace heddle {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// With the value of the objective in place of the time.
Observation outcome_of(const SearchContext& context, std::size_t configuration, const Screened& screened) {
  Observation outcome{.status = screened.measurement.status, .cost = screened.cost};
  if (outcome.cost) {
    outcome.cost = context.objective_of(
        configuration,
        {.time = *screened.cost, .energy = screened.measurement.energy, .resources = screened.measurement.resources});
  }
  return outcome;
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
  Observation outcome;
  try {
    outcome = outcome_of(context_, configuration, screened);
  } catch (const Error&) {  // the objective has no value for it, which ends the run: what was measured is kept
    screened.measurement.cost = screened.cost;
    context_.journal.add(std::move(screened.measurement));
    throw;
  }
  screened.measurement.provenance.date = utc_now_exactly();  // its time is known now
  if (verdicts_.waits() && outcome.status == Status::unverified) {
    hold({.configuration = configuration, .outcome = outcome, .unrecorded = std::move(screened)});
    return outcome;
  }
  if (verdicts_.may_become_reference(outcome) && !verify(configuration, *outcome.cost, screened)) {
    outcome = {.status = screened.measurement.status, .cost = std::nullopt};
  }
  screened.measurement.cost = screened.cost;
  context_.journal.add(std::move(screened.measurement));
  return outcome;
}

Observation Screener::remember(std::size_t configuration, const Recollection& known) {
  if (verdicts_.waits() && known.observation.status == Status::unverified) {
    hold({.configuration = configuration, .outcome = known.observation, .unrecorded = std::nullopt});
    return known.observation;
  }
  if (!verdicts_.may_become_reference(known.observation)) return known.observation;
  if (known.own) {  // verified by this run: if that had failed, the journal would have returned the failure
    verdicts_.set_reference(*known.observation.cost);
    return known.observation;
  }
  Held held{.configuration = configuration, .outcome = known.observation, .unrecorded = std::nullopt};
  if (!judge(held)) context_.journal.add(std::move(held.unrecorded->measurement));
  return held.outcome;
}

/// Others are pruned against the first one, the default, before it is verified.
void Screener::hold(Held held) {
  if (!verdicts_.reference()) verdicts_.set_reference(*held.outcome.cost);
  held_.push_back(std::move(held));
}

Screener::Outcomes Screener::verify_held() {
  verdicts_.stop_waiting();
  Outcomes failed;
  const auto passes = [&](Held& held) {
    if (judge(held)) return true;
    failed.emplace_back(held.configuration, held.outcome);
    return false;
  };
  const auto candidate = [this] {  // the fastest that has not failed
    const auto cost_of = [](const Held& held) { return held.outcome.cost.value_or(kInfinite); };
    const auto fastest = std::ranges::min_element(held_, {}, cost_of);
    return fastest != held_.end() && verdicts_.may_become_reference(fastest->outcome) ? &*fastest : nullptr;
  };
  try {
    if (!held_.empty()) passes(held_.front());
    for (Held* fastest = candidate(); fastest != nullptr && !passes(*fastest); fastest = candidate()) {
    }
  } catch (...) {  // the user, or a device that is lost: a continued run verifies them again
    record_held();
    throw;
  }
  record_held();
  return failed;
}

void Screener::record_held() {
  for (Held& held : std::exchange(held_, {})) {
    if (!held.unrecorded) continue;
    held.unrecorded->measurement.cost = held.unrecorded->cost;
    context_.journal.add(std::move(held.unrecorded->measurement));
  }
}

/// Whether a configuration is correct. If not, its outcome is the failure, which remains to be recorded.
bool Screener::judge(Held& held) {
  Screened screened{.measurement = {}, .cost = held.outcome.cost};
  if (held.unrecorded) {
    screened = *held.unrecorded;
  } else {
    screened.measurement = context_.journal.blank(context_.problem.at(held.configuration), samples_);
    screened.measurement.status = held.outcome.status;
  }
  if (verify(held.configuration, *held.outcome.cost, screened)) return true;
  held.outcome = {.status = screened.measurement.status, .cost = std::nullopt};
  held.unrecorded = std::move(screened);
  return false;
}

void Screener::time(std::size_t configuration, Screened& screened) {
  const SearchedProblem& problem = context_.problem;
  const Configuration& candidate = problem.at(configuration);
  const Stopwatch stopwatch(context_.effort.measuring, context_.stop);
  if (samples_ == 0) find_samples(candidate);
  ++timed_;
  screened.measurement.samples = samples_;
  // A named configuration is there for comparison. It may be far slower and is not stopped, so it gets fewer samples.
  if (problem.is_protected(configuration) && !problem.is_untuned(configuration)) {
    screened.measurement.samples = std::min(samples_, choose_samples(context_.evaluator, candidate, problem.problem()));
  }
  const auto& objective = context_.options.objective;
  ScreeningLimits limits{.repetitions = context_.options.screening_repetitions,
                         .prune_above = std::nullopt,
                         .energy = objective && objective->needs_energy(context_.evaluator.family())};
  if (verdicts_.reference() && !problem.is_protected(configuration) && !objective) {
    limits.prune_above = *verdicts_.reference() * context_.options.prune_factor;
    if (!context_.evaluator.shares_processor() && std::isfinite(context_.options.prune_factor)) {
      limits.settle_above = *verdicts_.reference() * context_.options.finalist_factor;
    }
  }
  limits.enough = [&](double time, const std::optional<KernelResources>& resources) {
    if (limits.energy) return false;  // what the objective is without it is not known
    const auto left = context_.stop.seconds_left_in_total();
    return (left && *left <= 0.0) || !has_value(configuration, {.time = time, .energy = {}, .resources = resources});
  };
  if (problem.is_untuned(configuration)) limits.least_seconds = warming_seconds();
  screened = screen(context_.evaluator, candidate, std::move(screened.measurement), limits);
  context_.pace.last_timed = context_.stop.now();
}

/// How long the untuned default is timed. Others are pruned against it, and most of a short search is compared with it,
/// but the clocks of a device that was idle have to rise first. Between two problems of a run they have no time to
/// fall.
double Screener::warming_seconds() const {
  constexpr double kRising = 0.1, kFalling = 0.25;
  if (context_.evaluator.shares_processor()) return 0.0;
  const std::optional<double>& last = context_.pace.last_timed;
  return last && context_.stop.now() - *last < kFalling ? 0.0 : kRising;
}

/// Whether the objective has a value for it. If not, the run ends with it.
bool Screener::has_value(std::size_t configuration, const Measured& measured) const {
  try {
    static_cast<void>(context_.objective_of(configuration, measured));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Whether it is correct; if not, `screened` says what it is.
bool Screener::verify(std::size_t configuration, double cost, Screened& screened) {
  const Verdict verdict = verdicts_.verify_as_reference(configuration, cost);
  if (verdict.status == Status::correct) return true;
  screened.measurement.status = verdict.status;
  screened.measurement.message = verdict.message;
  screened.measurement.worst_error = verdict.worst_error;
  screened.measurement.times.clear();
  screened.cost.reset();
  return false;
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
