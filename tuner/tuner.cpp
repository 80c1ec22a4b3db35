#include "heddle/tuner/tuner.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/tuner/journal.hpp"
#include "heddle/tuner/problem_search.hpp"

namespace heddle {

namespace {

constexpr double kScreeningShare = 0.75;  // of a problem's time; the rest is for finals and verification
constexpr std::size_t kFirstBatch = 16;
constexpr std::size_t kHints = 6;  // winners of other problems that are tried

/// One problem to be visited.
struct Visit {
  Problem problem;
  bool search = true;              ///< false: a stale profile is re-verified
  std::optional<Profile> profile;  ///< what the store has at the beginning
};

/// What a run knows about the profiles of its family and device.
class Known {
 public:
  Known(const ProfileStore& store, const Evaluator& evaluator)
      : family_(evaluator.family()),
        space_(family_.space(evaluator.device())),
        source_hash_(family_.source(evaluator.device().backend).hash()) {
    for (Profile& profile : store.profiles(std::string(family_.name()))) {
      if (profile.key.device == evaluator.device()) add(std::move(profile));
    }
  }

  void add(Profile profile) {
    std::erase_if(profiles_, [&](const Profile& old) { return old.key == profile.key; });
    profiles_.push_back(std::move(profile));
  }

  [[nodiscard]] bool stale(const Profile& profile) const { return profile.source_hash != source_hash_; }

  /// Stale profiles, then problems without a profile, then the rest; each as they were given.
  [[nodiscard]] std::vector<Visit> agenda(const std::vector<Problem>& problems) const {
    std::vector<Visit> visits;
    for (const Profile& profile : profiles_) {
      if (stale(profile)) visits.push_back({.problem = profile.key.problem, .search = false, .profile = profile});
    }
    const auto listed = [&](const Problem& problem) {
      return std::any_of(visits.begin(), visits.end(), [&](const Visit& visit) { return visit.problem == problem; });
    };
    for (const bool known : {false, true}) {
      for (const Problem& problem : problems) {
        const auto profile = std::find_if(profiles_.begin(), profiles_.end(),
                                          [&](const Profile& p) { return p.key.problem == problem; });
        if ((profile != profiles_.end()) != known || listed(problem)) continue;
        visits.push_back(
            {.problem = problem, .search = true, .profile = known ? std::optional(*profile) : std::nullopt});
      }
    }
    return visits;
  }

  /// The configurations of the profile of `problem` and of those nearest to it.
  [[nodiscard]] std::vector<Configuration> hints(const Problem& problem) const {
    std::vector<const Profile*> nearest;
    for (const Profile& profile : profiles_) nearest.push_back(&profile);
    std::stable_sort(nearest.begin(), nearest.end(), [&](const Profile* a, const Profile* b) {
      return distance(a->key.problem, problem, family_.axes()) < distance(b->key.problem, problem, family_.axes());
    });
    std::vector<Configuration> found;
    for (const Profile* profile : nearest) {
      if (found.size() == kHints) break;
      const auto configuration = parse(profile->configuration);
      if (configuration && std::find(found.begin(), found.end(), *configuration) == found.end()) {
        found.push_back(*configuration);
      }
    }
    return found;
  }

 private:
  /// Nothing if a changed space no longer has it.
  [[nodiscard]] std::optional<Configuration> parse(const std::string& text) const {
    try {
      return space_.parse(text);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  const KernelFamily& family_;
  SearchSpace space_;
  std::string source_hash_;
  std::vector<Profile> profiles_;
};

/// Configurations that took the device down when they were tried before.
std::set<std::string> fatal_configurations(const ProfileStore& store, const Evaluator& evaluator,
                                           const Problem& problem) {
  const KernelFamily& family = evaluator.family();
  const std::string& source_hash = family.source(evaluator.device().backend).hash();
  std::set<std::string> fatal;
  for (const Measurement& past : store.measurements(
           ProfileKey{.device = evaluator.device(), .family = std::string(family.name()), .problem = problem})) {
    if (takes_device_down(past.status) && past.source_hash == source_hash) fatal.insert(past.configuration);
  }
  return fatal;
}

/// Whether it is the profile now. What another process stored since `visit` began is replaced by a better one only;
/// what was there before took part in the finals and has lost, or won anew.
bool keep(ProfileStore& store, const Visit& visit, const Profile& winner) {
  const std::optional<Profile> present = store.find(winner.key);
  const bool unchanged =
      present.has_value() == visit.profile.has_value() &&
      (!present || (present->configuration == visit.profile->configuration && present->time == visit.profile->time &&
                    present->source_hash == visit.profile->source_hash));
  if (!unchanged) return store.keep_if_better(winner);
  store.keep(winner);
  return true;
}

/// Puts a problem's progress into that of the whole run.
class Reporter {
 public:
  Reporter(const TunerCallbacks& callbacks, const StopCondition& stop, std::size_t problems)
      : callbacks_(callbacks), stop_(stop), problems_(problems) {}

  void progress(std::size_t index, Stage stage, const ProblemSearch& search) const {
    if (!callbacks_.progress) return;
    TuningProgress progress;
    progress.problem_index = index;
    progress.problems = problems_;
    progress.problem = &search.problem();
    progress.stage = stage;
    progress.evaluations = search.evaluations();
    progress.valid = search.configurations().size();
    progress.all_evaluations = evaluations_ + search.evaluations();
    progress.best = search.best();
    progress.baseline = search.baseline();
    progress.effort = effort_;
    progress.effort += search.effort();
    progress.effort.total = stop_.seconds_used();
    estimate(progress);
    callbacks_.progress(progress);
  }

  void result(const TuningResult& result) {
    evaluations_ += result.evaluations();
    effort_ += result.effort;
    if (callbacks_.result) callbacks_.result(result);
  }

 private:
  /// The part that is done is the largest of those of problems, time and evaluations, as any of them may end the run.
  void estimate(TuningProgress& progress) const {
    const double within =
        progress.valid == 0 ? 0.0 : static_cast<double>(progress.evaluations) / static_cast<double>(progress.valid);
    progress.fraction = (static_cast<double>(progress.problem_index) + within) / static_cast<double>(problems_);
    const double used = stop_.seconds_used();
    const auto seconds = stop_.seconds_left();
    if (seconds) progress.fraction = std::max(progress.fraction, used / (used + *seconds));
    if (const auto left = stop_.evaluations_left()) {
      const auto done = static_cast<double>(progress.all_evaluations);
      progress.fraction = std::max(progress.fraction, done / (done + static_cast<double>(*left)));
    }
    if (progress.fraction > 0.0) progress.seconds_left = used * (1.0 - progress.fraction) / progress.fraction;
  }

  const TunerCallbacks& callbacks_;
  const StopCondition& stop_;
  std::size_t problems_;
  std::int64_t evaluations_ = 0;
  Effort effort_;
};

}  // namespace

Tuner::Tuner(Evaluator& evaluator, ProfileStore& store, TunerOptions options, TunerCallbacks callbacks)
    : evaluator_(evaluator), store_(store), options_(std::move(options)), callbacks_(std::move(callbacks)) {}

std::vector<TuningResult> Tuner::tune(const std::vector<Problem>& problems, StopCondition& stop) {
  const StrategyEntry& entry = strategy(options_.strategy);
  Known known(store_, evaluator_);
  const std::vector<Visit> agenda = known.agenda(problems);
  Reporter reporter(callbacks_, stop, agenda.size());
  Journal journal(store_);
  std::size_t batch_size = kFirstBatch;
  std::vector<TuningResult> results;
  for (std::size_t i = 0; i < agenda.size() && (i == 0 || !stop.reached()); ++i) {
    const Visit& visit = agenda[i];
    const double share = 1.0 / static_cast<double>(agenda.size() - i);
    StopCondition slice = stop.part(share, share);
    ProblemSearch search(evaluator_, journal, options_, visit.problem,
                         fatal_configurations(store_, evaluator_, visit.problem), slice,
                         [&](Stage stage, const ProblemSearch& now) { reporter.progress(i, stage, now); });
    search.screen_first(known.hints(visit.problem));
    if (visit.search) {
      StopCondition screening = slice.part(kScreeningShare, 1.0);
      const auto order = entry.make(search.configurations(), options_.seed);
      search.screen(*order, screening, batch_size);
    }
    search.decide();

    TuningResult result = search.result();
    result.searched = visit.search;
    if (result.profile) {
      result.kept = keep(store_, visit, *result.profile);
      known.add(*result.profile);
    }
    reporter.result(result);
    results.push_back(std::move(result));
  }
  journal.flush();
  return results;
}

}  // namespace heddle
