#include "heddle/tuner/tuner.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "heddle/tuner/agenda.hpp"
#include "heddle/tuner/coverage.hpp"
#include "heddle/tuner/journal.hpp"
#include "heddle/tuner/problem_search.hpp"
#include "heddle/tuner/reporter.hpp"

namespace heddle {

namespace {

constexpr double kFirstPass = 0.9;        // of the time of a run, if there are several problems
constexpr double kScreeningShare = 0.75;  // of a problem's time; the rest is for finals and verification
constexpr std::size_t kHints = 6;         // winners of other problems that are tried
constexpr std::size_t kContenders = 4;    // that a profile has to beat again when its environment has changed

/// One call of Tuner::tune().
class Run {
 public:
  Run(Evaluator& evaluator, ProfileStore& store, const TunerOptions& options, const TunerCallbacks& callbacks,
      const std::vector<Problem>& problems, StopCondition& stop, const TuningRun& run)
      : evaluator_(evaluator),
        store_(store),
        options_(options),
        callbacks_(callbacks),
        strategy_(strategy(options.strategy)),
        stop_(stop),
        known_(store.profiles_before(run), store.displaced(), evaluator),
        agenda_(known_.agenda(problems, present_environment(evaluator, problems.front(), known_.know_clocks()))),
        reporter_(callbacks, stop, agenda_.size()),
        journal_(store, evaluator, run),
        coverage_(evaluator.family().axes(), problems) {
    for (const Visit& visit : agenda_) {
      if (visit.search && visit.profile) coverage_.add_tuned(visit.problem);
    }
  }

  std::vector<TuningResult> tune() {
    const double first_pass = agenda_.size() > 1 ? kFirstPass : 1.0;
    search_each({.begin = 0.0, .length = first_pass});
    if (agenda_.size() > 1) try_later_winners({.begin = first_pass, .length = 1.0 - first_pass});
    if (callbacks_.expected_loss) callbacks_.expected_loss(coverage_.expected_loss());
    return std::move(results_);
  }

 private:
  /// Parts of the whole run.
  struct Pass {
    double begin, length;
  };

  void search_each(const Pass& pass) {
    StopCondition stop = stop_.part(pass.length, 1.0);
    for (std::size_t i = 0; i < agenda_.size() && (i == 0 || !stop.reached()); ++i) {
      choose(i);
      const double share = 1.0 / static_cast<double>(agenda_.size() - i);
      StopCondition slice = stop.part(share, share);
      results_.push_back(agenda_[i].search ? visit(i, agenda_[i], known_.hints(agenda_[i].problem, kHints), pass, slice)
                                           : measure_again(i, pass, slice));
      reporter_.result(results_.back());
    }
  }

  /// Brings the problem that is worth most to place `i` of the agenda, among those without a profile that are left.
  void choose(std::size_t i) {
    const auto unknown = [](const Visit& visit) { return visit.search && !visit.profile; };
    if (!unknown(agenda_[i])) return;
    std::vector<Problem> left;
    for (std::size_t k = i; k < agenda_.size() && unknown(agenda_[k]); ++k) left.push_back(agenda_[k].problem);
    const auto first = agenda_.begin() + static_cast<std::ptrdiff_t>(i);
    const auto chosen = first + static_cast<std::ptrdiff_t>(coverage_.next(left));
    std::rotate(first, chosen, chosen + 1);
  }

  /// What the winners of other problems lose here.
  void learn(const ProblemSearch& search, const TuningResult& result) {
    if (!result.profile) return;
    for (const Profile& other : known_.profiles()) {
      const auto cost = search.cost(other.configuration);
      if (cost && other.key.problem != result.problem) {
        coverage_.learn(other.key.problem, result.problem, *cost / result.profile->time - 1.0);
      }
    }
    coverage_.add_tuned(result.problem);
  }

  /// A handful of measurements where something has changed since a profile was made; a search only where the ranking
  /// has moved.
  TuningResult measure_again(std::size_t index, const Pass& pass, StopCondition& stop) {
    const Visit& first = agenda_[index];
    const auto before = contenders(store_, evaluator_, *first.profile, journal_.run(), kContenders);
    TuningResult result = visit(index, first, before, pass, stop);
    const auto baseline = last_time(store_, first.profile->key, result.baseline.configuration, journal_.run());
    if (!ranking_moved(*first.profile, baseline, result) || stop.reached()) return result;
    Visit search = first;
    search.search = true;
    search.profile = result.profile;
    TuningResult found = visit(index, search, known_.hints(first.problem, kHints), pass, stop);
    found.effort += result.effort;
    return found.profile ? found : result;
  }

  /// Problems visited early could not try what won later for others like them; that takes a few measurements each, of
  /// kernels that are compiled by now.
  void try_later_winners(const Pass& pass) {
    for (std::size_t i = 0; i < results_.size() && !stop_.reached(); ++i) {
      TuningResult& result = results_[i];
      const std::vector<Configuration> hints = known_.hints(result.problem, kHints);
      const bool news = std::any_of(hints.begin(), hints.end(),
                                    [&](const Configuration& hint) { return !tried_[i].contains(hint.text()); });
      if (!news) continue;
      const Visit again{.problem = result.problem, .search = false, .profile = result.profile, .change = {}};
      if (result.improve(visit(i, again, hints, pass, stop_))) reporter_.result(result);
    }
  }

  /// Microseconds per sample that are near enough to the physical floor.
  [[nodiscard]] std::optional<double> good_enough(const Problem& problem) const {
    if (!options_.target) return std::nullopt;
    const Cost cost = evaluator_.family().cost(problem);
    const auto seconds = [](double amount, double rate) { return rate > 0.0 ? amount / rate : 0.0; };
    const double floor = std::max(seconds(cost.bytes, options_.peak_bytes_per_second),
                                  seconds(cost.operations, options_.peak_operations_per_second));
    return floor * 1e6 / *options_.target;
  }

  TuningResult visit(std::size_t index, const Visit& visit, const std::vector<Configuration>& hints, const Pass& pass,
                     StopCondition& stop) {
    const double share = pass.length / static_cast<double>(agenda_.size());
    const double before = pass.begin + share * static_cast<double>(index);
    ProblemSearch search(
        evaluator_, journal_, options_, visit.problem, ++visits_, stop,
        [&](Stage stage, const ProblemSearch& now) { reporter_.progress(index, before, share, stage, now); });
    search.screen_first(hints);
    if (visit.search) {
      StopCondition screening = stop.part(kScreeningShare, 1.0);
      screening.satisfied_by({.without_gain = options_.patience, .good_enough = good_enough(visit.problem)});
      const auto order = strategy_.make(search.configurations(), options_.seed);
      search.screen(*order, screening, pace_);
    }
    search.decide();
    tried_.resize(agenda_.size());
    tried_[index].merge(search.tried());

    TuningResult result = search.result();
    learn(search, result);
    result.searched = visit.search;
    result.change = visit.change;
    if (result.profile) {
      store_.atomically([&] {
        store_.record(search.conclusion());
        result.kept = keep_winner(store_, visit, *result.profile);
        store_.spent(journal_.run(), stop_.seconds_of_whole());
      });
      known_.add(*result.profile);
    }
    reporter_.finished(result);
    return result;
  }

  Evaluator& evaluator_;
  ProfileStore& store_;
  const TunerOptions& options_;
  const TunerCallbacks& callbacks_;
  const StrategyEntry& strategy_;
  StopCondition& stop_;
  KnownProfiles known_;
  std::vector<Visit> agenda_;
  Reporter reporter_;
  Journal journal_;
  Coverage coverage_;
  ProblemSearch::Pace pace_;
  std::int64_t visits_ = 0;
  std::vector<std::set<std::string>> tried_;  ///< canonical texts, by place in the agenda
  std::vector<TuningResult> results_;         ///< likewise
};

}  // namespace

Tuner::Tuner(Evaluator& evaluator, ProfileStore& store, TunerOptions options, TunerCallbacks callbacks)
    : evaluator_(evaluator), store_(store), options_(std::move(options)), callbacks_(std::move(callbacks)) {}

std::vector<TuningResult> Tuner::tune(const std::vector<Problem>& problems, StopCondition& stop) {
  const TuningRun run = store_.begin_run(task(problems));
  stop.charge(run.seconds);
  auto results = tune(problems, stop, run);
  store_.end_run(run, !stop.interrupted());
  return results;
}

std::vector<TuningResult> Tuner::tune(const std::vector<Problem>& problems, StopCondition& stop, const TuningRun& run) {
  if (problems.empty()) return {};
  return Run(evaluator_, store_, options_, callbacks_, problems, stop, run).tune();
}

std::string Tuner::task(const std::vector<Problem>& problems) const {
  const KernelFamily& family = evaluator_.family();
  const DeviceIdentity& device = evaluator_.device();
  const Provenance provenance = evaluator_.provenance();
  std::string task = fmt::format(
      "{} {} on {}; driver {}; compiler {}; strategy {} seed {} screening {} hopeless {} finalists {} rounds {} to {}",
      family.name(), family.source(device.backend).hash(), device.text(), provenance.driver, provenance.compiler,
      options_.strategy, options_.seed, options_.screening_repetitions, options_.hopeless, options_.finalists,
      options_.minimum_repetitions, options_.maximum_repetitions);
  for (const Problem& problem : problems) task += fmt::format("\n{}", problem.text());
  return task;
}

}  // namespace heddle
