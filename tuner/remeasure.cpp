#include "heddle/tuner/remeasure.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/tuner/objective.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

constexpr int kRepetitions = 9;

/// Times the configuration, and whatever else the objective asks for.
void measure(Evaluator& evaluator, const Configuration& configuration, std::int64_t samples,
             const std::optional<Objective>& objective, Measurement& measurement) {
  const auto runner = evaluator.prepare(configuration, measurement.key.problem, samples);
  (void)runner->time();  // warm-up
  std::vector<double> times;
  times.reserve(kRepetitions);
  for (int repetition = 0; repetition < kRepetitions; ++repetition) times.push_back(runner->time());
  measurement.resources = runner->resources();
  if (objective && objective->needs_energy(evaluator.family())) measurement.energy = runner->energy();
  runner->check_guards();
  measurement.times = std::move(times);
}

/// What the profile's goal makes small; nothing for the time.
std::optional<Objective> objective_of(const Profile& profile) {
  if (profile.key.goal.is_time()) return std::nullopt;
  return Objective(profile.key.goal.objective);
}

/// Times and verifies; `times` stays empty if it failed.
Verdict examine(Evaluator& evaluator, const Profile& profile, const std::optional<Objective>& objective,
                Measurement& measurement) {
  const std::int64_t samples = measurement.samples;
  const Problem& problem = profile.key.problem;
  const SearchSpace space = evaluator.family().space(evaluator.device());
  Configuration configuration;
  try {
    configuration = space.parse(profile.configuration);
  } catch (const Error& error) {
    return {.status = Status::constraint, .message = error.what()};
  }
  if (const auto constraint = space.violated(configuration, problem)) {
    return {.status = Status::constraint, .message = *constraint};
  }
  const auto done = evaluator.compile({configuration}, problem)->next();
  if (!done || !done->compiled)
    return {.status = Status::compilation, .message = done ? first_complaint(done->log) : ""};
  try {
    Verdict verdict = evaluator.verify(configuration, problem, VerificationExtent::all);
    if (verdict.status == Status::correct) {
      const Configuration untuned = evaluator.family().default_configuration(evaluator.device(), problem);
      const Verdict timed = evaluator.verify_timed_run(configuration, problem, samples, untuned);
      if (timed.status != Status::correct) verdict = timed;
    }
    if (verdict.status == Status::correct) measure(evaluator, configuration, samples, objective, measurement);
    return verdict;
  } catch (const DeviceFailure& failure) {
    return {.status = failure.status(), .message = failure.what()};
  }
}

/// Of the objective, by what was measured of the profile's configuration.
double value_of(const Objective& objective, const Evaluator& evaluator, const Profile& profile,
                const Measurement& measurement) {
  const KernelFamily& family = evaluator.family();
  return objective.of(
      family, profile.key.problem, family.space(evaluator.device()).parse(profile.configuration),
      {.time = median(measurement.times), .energy = measurement.energy, .resources = measurement.resources});
}

bool computes_wrongly(Status status) {
  return status == Status::wrong_result || status == Status::overrun || takes_device_down(status);
}

}  // namespace

Remeasured remeasure(Evaluator& evaluator, ProfileStore& store, const Profile& profile) {
  if (profile.key.device != evaluator.device() || profile.key.family != evaluator.family().name()) {
    throw Error(ErrorKind::usage,
                fmt::format("the profile of {} on {} cannot be verified with {} on {}", profile.key.family,
                            profile.key.device.name, evaluator.family().name(), evaluator.device().name));
  }
  Remeasured result{
      .verdict = {}, .before = profile.time, .profile = std::nullopt, .removed = false, .restored = false};
  // An imported one may ask for what nothing here has. The profile then stays as it is.
  const auto unverified = [&](const Error& error) {
    result.verdict = {.status = Status::unverified, .message = error.what()};
    return result;
  };
  std::optional<Objective> objective;
  try {
    objective = objective_of(profile);
    if (objective) objective->check(evaluator.family(), evaluator.device());
  } catch (const Error& error) {
    return unverified(error);
  }
  Measurement measurement;
  measurement.key = profile.key;
  measurement.key.goal = {};
  measurement.cold_cache = profile.key.goal.cold_cache;
  measurement.kernels = evaluator.kernels();
  measurement.configuration = profile.configuration;
  // An imported one may name any number.
  measurement.samples = std::min(profile.samples, timed_work(evaluator, profile.key.problem).most);
  measurement.provenance = evaluator.provenance();
  measurement.provenance.strategy = "verify";

  result.verdict = examine(evaluator, profile, objective, measurement);
  measurement.status = result.verdict.status;
  measurement.worst_error = result.verdict.worst_error;
  measurement.message = result.verdict.message;
  store.record(measurement);

  const bool correct = result.verdict.status == Status::correct;
  if (correct) {
    Profile anew = profile;
    anew.kernels = measurement.kernels;
    anew.samples = measurement.samples;
    anew.time = median(measurement.times);
    anew.spread = half_interquartile_range(measurement.times);
    anew.worst_error = measurement.worst_error;
    try {
      if (objective) anew.value = value_of(*objective, evaluator, profile, measurement);
    } catch (const Error& error) {  // the energy that it asks for cannot be measured here
      return unverified(error);
    }
    anew.imported = false;
    anew.provenance = measurement.provenance;
    result.profile = std::move(anew);
  }
  store.atomically([&] {
    const auto local = store.displaced(profile.key);
    const bool faster =
        local && comparable(local->kernels, measurement.kernels) && correct && is_better(*local, *result.profile);
    if (correct) store.keep(*result.profile);
    if (local && (!correct || faster)) {
      result.restored = store.restore_displaced(profile.key);
    } else if (correct) {
      store.forget_displaced(profile.key);
    } else if (computes_wrongly(result.verdict.status)) {
      store.remove(profile.key);
      result.removed = true;
    }
  });
  return result;
}

}  // namespace heddle
