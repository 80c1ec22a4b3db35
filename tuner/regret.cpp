#include "heddle/tuner/regret.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/size_box.hpp"
#include "heddle/profiles/present_kernels.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/runtime/dispatch/candidate_row.hpp"
#include "heddle/runtime/dispatch/spilling.hpp"
#include "heddle/tuner/finals.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/statistics.hpp"
#include "heddle/tuner/tuner.hpp"

namespace heddle {

namespace {

std::vector<Finalist> compare(Evaluator& evaluator, const std::vector<Configuration>& configurations,
                              const Problem& problem, std::int64_t samples, const TunerOptions& options) {
  const auto compilation = evaluator.compile(configurations, problem);
  while (compilation->next()) {
  }
  std::vector<Finalist> finalists(configurations.size());
  for (std::size_t i = 0; i < finalists.size(); ++i) finalists[i].configuration = i;
  run_finals(
      finalists, [&](std::size_t i) { return evaluator.prepare(configurations[i], problem, samples); },
      {.minimum_rounds = options.minimum_repetitions,
       .maximum_rounds = options.maximum_repetitions,
       .seed = options.seed},
      [](int) { return false; });
  return finalists;
}

/// Of a configuration's kernels, compiled for a problem. Nothing if that fails, or the device does not say.
std::optional<std::int64_t> local_bytes(Evaluator& evaluator, const Configuration& configuration,
                                        const Problem& problem) {
  const auto compilation = evaluator.compile({configuration}, problem);
  while (compilation->next()) {
  }
  try {
    const auto resources = evaluator.prepare(configuration, problem, 1)->resources();
    return resources ? std::optional(resources->local_bytes) : std::nullopt;
  } catch (const DeviceFailure&) {  // whoever times it is told why
    return std::nullopt;
  }
}

/// A copy in memory of the family's profiles and measurements. The profiles are marked as made in the present
/// environment, so that the tuner does not measure them again first.
ProfileStore copy_for_search(const ProfileStore& store, const Evaluator& evaluator) {
  ProfileStore copy(":memory:", ProfileStore::Access::read_write, store.families());
  PresentKernels present(evaluator.family());
  const auto unchanged = [&](Profile profile) {
    profile.kernels = present.version(profile.key.device);
    profile.run = 0;
    profile.provenance = {};  // an unknown environment counts as unchanged
    return profile;
  };
  copy.atomically([&] {
    for (const Profile& profile : store.knowledge(std::string(evaluator.family().name())).profiles) {
      if (const auto local = store.displaced(profile.key)) copy.keep(unchanged(*local));
      copy.keep_for_now(unchanged(profile));
      if (profile.key.device != evaluator.device()) continue;
      std::vector<Measurement> measurements = store.measurements(profile.key);
      std::reverse(measurements.begin(), measurements.end());  // the oldest first, as they were taken
      for (Measurement& measurement : measurements) measurement.run = 0;
      copy.record(measurements);
    }
  });
  return copy;
}

}  // namespace

std::vector<Problem> problems_between(const std::vector<Problem>& tuned, const std::vector<Axis>& axes,
                                      std::size_t count, std::uint64_t seed) {
  const std::vector<SizeBox> boxes = bounding_boxes(tuned, axes);
  std::set<Problem> taken(tuned.begin(), tuned.end());
  std::vector<Problem> found;
  std::mt19937_64 random(seed);
  for (std::size_t attempts = 0; !boxes.empty() && found.size() < count && attempts < 100 * count; ++attempts) {
    Problem problem = draw(boxes[attempts % boxes.size()], axes, random);
    if (taken.insert(problem).second) found.push_back(std::move(problem));
  }
  return found;
}

RegretMeter::RegretMeter(Evaluator& evaluator, const ProfileStore& store, TunerOptions options)
    : evaluator_(evaluator),
      options_(std::move(options)),
      dispatcher_(evaluator.device(), evaluator.family(), store.knowledge(std::string(evaluator.family().name()))),
      scratch_(copy_for_search(store, evaluator)) {}

Candidate RegretMeter::choose(const Problem& problem) const {
  CandidateRow row(dispatcher_, problem);
  const auto why = [&] {
    const Candidate& candidate = row.current();
    return spilling(dispatcher_, candidate, problem,
                    [&](const Problem& at) { return local_bytes(evaluator_, candidate.configuration, at); });
  };
  while (const auto spills = why()) (void)row.pass_over(*spills);
  Candidate chosen = row.current();
  for (const std::string& line : row.failures()) chosen.reason += fmt::format("; not {}", line);
  return chosen;
}

std::optional<TuningResult> RegretMeter::search(const Problem& problem, const Configuration& choice,
                                                StopCondition& stop) {
  // A made-up profile: the tuner tries a problem's stored profile first, so the dispatcher's choice takes part in the
  // search. Its time does not affect the result.
  Profile start;
  start.key = {.device = evaluator_.device(), .family = std::string(evaluator_.family().name()), .problem = problem};
  start.kernels = evaluator_.kernels();
  start.configuration = choice.text();
  start.time = 1.0;
  start.samples = 1;
  scratch_.keep(start);
  auto results = Tuner(evaluator_, scratch_, options_).tune({problem}, stop);
  scratch_.remove(start.key);
  if (results.empty()) return std::nullopt;
  return std::move(results.front());
}

Regret RegretMeter::measure(const Problem& problem, StopCondition& stop) {
  const KernelFamily& family = evaluator_.family();
  const Candidate chosen = choose(problem);
  Regret regret{.problem = problem, .chosen = chosen.configuration.text(), .reason = chosen.reason, .best = {}};
  const std::optional<TuningResult> result = search(problem, chosen.configuration, stop);
  const std::optional<Profile> winner = result ? result->profile : std::nullopt;
  const std::int64_t samples = winner ? winner->samples : usual_work(timed_work(evaluator_, problem));
  regret.best = winner ? winner->configuration : regret.chosen;
  regret.evaluations = result ? result->evaluations() : 0;

  // A configuration with several roles (winner, choice, default) is timed once.
  std::vector<Configuration> all;
  const auto place = [&](const Configuration& configuration) {
    const auto found = std::find(all.begin(), all.end(), configuration);
    if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
    all.push_back(configuration);
    return all.size() - 1;
  };
  (void)place(chosen.configuration);
  const std::size_t winning = place(family.space(evaluator_.device()).parse(regret.best));
  const std::size_t untuned = place(family.default_configuration(evaluator_.device(), problem));
  const std::vector<Finalist> timed = compare(evaluator_, all, problem, samples, options_);
  if (timed.front().failed()) {
    throw Error(ErrorKind::device, fmt::format("{} {}: the dispatcher's choice fails: {}", family.name(),
                                               problem.text(), timed.front().message));
  }
  regret.chosen_time = regret.best_time = median(timed.front().times);
  if (!timed[untuned].failed()) regret.default_time = median(timed[untuned].times);
  if (timed[winning].failed() || !clearly_slower(timed.front().times, timed[winning].times)) {
    regret.best = regret.chosen;
    return regret;
  }
  regret.best_time = median(timed[winning].times);
  // In the rounds that both had: who drops out has no later ones.
  const std::span<const double> chosen_times = timed.front().times, best_times = timed[winning].times;
  const std::size_t rounds = std::min(chosen_times.size(), best_times.size());
  regret.loss = median(chosen_times.first(rounds)) / median(best_times.first(rounds)) - 1.0;
  return regret;
}

}  // namespace heddle
