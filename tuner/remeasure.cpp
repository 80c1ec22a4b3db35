#include "heddle/tuner/remeasure.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

constexpr int kRepetitions = 9;

std::vector<double> measure(Evaluator& evaluator, const Configuration& configuration, const Problem& problem,
                            std::int64_t samples) {
  const auto runner = evaluator.prepare(configuration, problem, samples);
  (void)runner->time();  // warm-up
  std::vector<double> times;
  times.reserve(kRepetitions);
  for (int repetition = 0; repetition < kRepetitions; ++repetition) times.push_back(runner->time());
  runner->check_guards();
  return times;
}

/// Times and verifies; `times` stays empty if it failed.
Verdict examine(Evaluator& evaluator, const Profile& profile, std::int64_t samples, std::vector<double>& times) {
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
    if (verdict.status == Status::correct) times = measure(evaluator, configuration, problem, samples);
    return verdict;
  } catch (const DeviceFailure& failure) {
    return {.status = failure.status(), .message = failure.what()};
  }
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
  Measurement measurement;
  measurement.key = profile.key;
  measurement.kernels = evaluator.kernels();
  measurement.configuration = profile.configuration;
  // An imported one may name any number.
  measurement.samples = std::min(profile.samples, timed_work(evaluator, profile.key.problem).most);
  measurement.provenance = evaluator.provenance();
  measurement.provenance.strategy = "verify";

  Remeasured result{
      .verdict = {}, .before = profile.time, .profile = std::nullopt, .removed = false, .restored = false};
  result.verdict = examine(evaluator, profile, measurement.samples, measurement.times);
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
    anew.imported = false;
    anew.provenance = measurement.provenance;
    result.profile = std::move(anew);
  }
  store.atomically([&] {
    const auto local = store.displaced(profile.key);
    const bool faster =
        local && comparable(local->kernels, measurement.kernels) && correct && local->time < result.profile->time;
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
