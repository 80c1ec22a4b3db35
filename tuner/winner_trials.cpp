#include "heddle/tuner/winner_trials.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace heddle {

namespace {

// Of the time after the first searches: for values of what is chosen last, at problems that ended before another one
// had found them faster. What that does not need is for the rest.
constexpr double kLastChoices = 0.7;
constexpr int kMostLastChoices = 3;  // at most so many at a problem: what is best at most need not be best at all
// For the best single mapping: at most so much of the time that these leave, and of all evaluations. Of a minute that
// is up to 3.6 s: two for kernels that are compiled side by side, and for a hundred problems.
constexpr double kSingleMappingTime = 0.15, kSingleMappingEvaluations = 0.1;
constexpr int kMostSingleMappings = 3;  // at most so many are tried at all problems

}  // namespace

WinnerTrials::WinnerTrials(const Evaluator& evaluator, const TunerOptions& options, StopCondition& stop,
                           const Lessons& lessons, Visits& visits, std::size_t problems, std::size_t most_active)
    : evaluator_(evaluator),
      options_(options),
      stop_(stop),
      lessons_(lessons),
      visits_(visits),
      problems_(problems),
      most_active_(most_active) {}

bool WinnerTrials::compare_mappings() const { return problems_ > 1 && options_.goal().is_usual(); }

double WinnerTrials::reserve() {
  const auto left = stop_.evaluations_left();
  if (!left || !compare_mappings()) return 0.0;
  const auto all = static_cast<double>(*left);
  const double part = std::min(kSingleMappingEvaluations, static_cast<double>(problems_) / all);
  reserved_evaluations_ = part * all;
  return part;
}

/// What may be as fast as the winner of a problem by what is chosen last, as far as is known, and was not tried there.
std::optional<Configuration> WinnerTrials::last_choice_for(std::size_t place) const {
  const auto& result = visits_.result(place);
  if (!result || !result->searched || !result->profile) return std::nullopt;
  const LastChoices& last = lessons_.last_choices();
  // As the screening measured it, like all others; finals take longer.
  const auto screened = last.cost(result->problem, result->profile->configuration);
  const double fastest = screened.value_or(result->objective.value_or(result->profile->time));
  return last.untried(result->problem, fastest, visits_.tried(place));
}

std::size_t WinnerTrials::late_choices() {
  std::size_t count = 0;
  for (std::size_t place = 0; place < problems_; ++place) {
    if (!visits_.result(place)) continue;
    auto& [revision, has_one] = late_[place];
    if (revision != lessons_.last_choices().revision()) {
      revision = lessons_.last_choices().revision();
      has_one = last_choice_for(place).has_value();
    }
    if (has_one) ++count;
  }
  return count;
}

void WinnerTrials::try_last_choices(const Phase& phase) {
  if (problems_ < 2) return;
  const double left = static_cast<double>(stop_.evaluations_left().value_or(0));
  const double spare = left > 0.0 ? std::max(0.0, 1.0 - reserved_evaluations_ / left) : 1.0;
  StopCondition time = stop_.slice(kLastChoices, spare);
  for (int round = 0; round < kMostLastChoices; ++round) {
    std::size_t place = 0;
    const auto next = [&]() -> std::optional<Trial> {
      for (; place < problems_; ++place) {
        if (auto best = last_choice_for(place)) return Trial{visits_.result(place++)->problem, *std::move(best)};
      }
      return std::nullopt;
    };
    try_each(next, phase, time, time);
  }
}

void WinnerTrials::try_single_mappings(const Phase& phase) {
  if (!compare_mappings()) return;
  StopCondition time = stop_.slice(kSingleMappingTime, 1.0);
  std::optional<Configuration> last;
  for (int count = 0; count < kMostSingleMappings && !time.reached(); ++count) {
    const auto likely = lessons_.likely_single_mapping(visits_.winners());
    if (!likely || likely->configuration == last) return;
    if (time.seconds_left().value_or(HUGE_VAL) < seconds_to_compile(*likely)) return;
    last = likely->configuration;
    auto problem = likely->untried.begin();
    const auto next = [&]() -> std::optional<Trial> {
      if (problem == likely->untried.end()) return std::nullopt;
      return Trial{*problem++, likely->configuration};
    };
    try_each(next, phase, time, stop_);
  }
}

/// How long its new kernels take all threads of the compiler, if they are as those so far.
double WinnerTrials::seconds_to_compile(const LikelyMapping& mapping) const {
  double seconds = 0.0;
  std::int64_t evaluations = 0;
  for (const TuningResult& result : visits_.results()) {
    seconds += result.effort.compiling;
    evaluations += result.evaluations();
  }
  if (evaluations == 0) return 0.0;
  return static_cast<double>(mapping.kernels) * seconds / static_cast<double>(evaluations) /
         static_cast<double>(std::max<std::size_t>(evaluator_.compiler_threads(), 1));
}

/// Measures all of them first, so that the time for that is not spent on finals. These follow where one was faster than
/// the winner, where it gained most first, while `finals` has time.
void WinnerTrials::try_each(const std::function<std::optional<Trial>()>& next, const Phase& phase, StopCondition& time,
                            const StopCondition& finals) {
  std::vector<std::pair<double, Visit>> faster;
  const auto start_next = [&](const std::vector<Visit>&) -> std::optional<Visit> {
    if (time.reached()) return std::nullopt;
    const std::optional<Trial> trial = next();
    if (!trial) return std::nullopt;
    return visits_.begin_with(trial->problem, trial->configuration, phase, time.slice(1.0, 1.0));
  };
  visits_.take_turns(most_active_, start_next, [&](Visit& visit) {
    if (const double ratio = visits_.challenge(visit); ratio < 1.0) {
      faster.emplace_back(ratio, std::move(visit));
    } else {
      visits_.improve(visit.place, visits_.give_up(visit));
    }
  });
  std::ranges::stable_sort(faster, {}, [](const auto& each) { return each.first; });
  for (auto& [ratio, visit] : faster) {
    visits_.improve(visit.place, finals.seconds_left() == 0.0 ? visits_.give_up(visit) : visits_.finish(visit));
  }
}

}  // namespace heddle
