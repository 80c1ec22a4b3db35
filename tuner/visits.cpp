#include "heddle/tuner/visits.hpp"

#include <algorithm>
#include <cmath>

#include "heddle/tuner/remeasured_profiles.hpp"

namespace heddle {

std::vector<Problem> problems_of(const std::vector<Visit>& visits) {
  std::vector<Problem> problems;
  problems.reserve(visits.size());
  for (const Visit& visit : visits) problems.push_back(visit.planned.problem);
  return problems;
}

std::vector<Problem> problems_of(const std::vector<PlannedVisit>& agenda) {
  std::vector<Problem> problems;
  problems.reserve(agenda.size());
  for (const PlannedVisit& visit : agenda) problems.push_back(visit.problem);
  return problems;
}

std::int64_t evaluations_left(const std::vector<Visit>& visits) {
  std::int64_t sum = 0;
  for (const Visit& visit : visits) sum += visit.search->time().evaluations_left().value_or(0);
  return sum;
}

Visit Visits::begin(std::size_t place, const PlannedVisit& planned, const Phase& phase, StopCondition time,
                    std::size_t most_first) {
  const SearchedProblem& problem = problems_.at(planned.problem);
  SearchPlan plan;
  plan.expected = lessons_.suggestions().expected(problem);
  plan.first = lessons_.suggestions().first(problem, plan.expected, most_first);
  Visit visit = begin(place, planned, phase, std::move(time), problem, std::move(plan));
  visit.most_first = most_first;
  return visit;
}

Visit Visits::begin(std::size_t place, const PlannedVisit& planned, const Phase& phase, StopCondition time,
                    std::vector<Configuration> first) {
  const SearchedProblem& problem = problems_.at(planned.problem);
  SearchPlan plan;
  plan.first = std::move(first);
  return begin(place, planned, phase, std::move(time), problem, std::move(plan));
}

std::optional<Visit> Visits::begin_again(std::size_t place, const Phase& phase, StopCondition time) {
  const TuningResult& before = *results_[place];
  const PlannedVisit again{.problem = before.problem, .search = false, .profile = before.profile, .change = {}};
  const SearchedProblem& problem = problems_.at(before.problem);
  SearchPlan plan;
  plan.first = lessons_.suggestions().later(problem, tried_[place], *before.profile);
  if (plan.first.empty()) return std::nullopt;
  return begin(place, again, phase, std::move(time), problem, std::move(plan));
}

Visit Visits::begin_with(const Problem& problem, const Configuration& configuration, const Phase& phase,
                         StopCondition time) {
  const auto found = std::ranges::find_if(
      results_, [&](const std::optional<TuningResult>& each) { return each && each->problem == problem; });
  const Profile& winner = *(*found)->profile;
  const PlannedVisit again{.problem = problem, .search = false, .profile = winner, .change = {}};
  const Configuration fastest = evaluator_.family().space(evaluator_.device()).parse(winner.configuration);
  SearchPlan plan;
  plan.first = {fastest, configuration};
  plan.refines = false;
  return begin(static_cast<std::size_t>(found - results_.begin()), again, phase, std::move(time), problems_.at(problem),
               std::move(plan));
}

Visit Visits::begin(std::size_t place, const PlannedVisit& planned, const Phase& phase, StopCondition time,
                    const SearchedProblem& problem, SearchPlan plan) {
  if (planned.search) {
    plan.strategy = &strategy_;
    plan.good_enough = good_enough(planned.problem);
  }
  plan.visit_number = ++numbers_[planned.problem];
  if (places_ > 1) plan.last = &lessons_.last_choices();
  const double share = phase.length / static_cast<double>(places_);
  const double fraction_before = phase.begin + share * static_cast<double>(std::min(place, places_ - 1));
  const auto report = [this, place, fraction_before, share](Stage stage, const ProblemSearch& now) {
    reporter_.progress(place, fraction_before, share, stage, now);
  };
  return {.place = place,
          .most_first = Suggestions::kFirst,
          .planned = planned,
          .search = std::make_unique<ProblemSearch>(evaluator_, journal_, options_, problem, std::move(plan),
                                                    std::move(time), pace_, report)};
}

/// The cost at which a search may end: the roofline bound divided by TunerOptions::target; microseconds per sample.
std::optional<double> Visits::good_enough(const Problem& problem) const {
  if (!options_.target) return std::nullopt;
  const Work work = evaluator_.family().work(problem);
  const auto seconds = [](double amount, double rate) { return rate > 0.0 ? amount / rate : 0.0; };
  const double floor = std::max(seconds(work.bytes, options_.peak_bytes_per_second),
                                seconds(work.operations, options_.peak_operations_per_second));
  return floor * 1e6 / *options_.target;
}

TuningResult Visits::finish(Visit& visit) {
  ProblemSearch& search = *visit.search;
  search.decide();
  tried_[visit.place].merge(search.attempts().tried());

  TuningResult result = search.result();
  lessons_.learn(search, result);
  account(visit, result);
  result.searched = visit.planned.search;
  result.change = visit.planned.change;
  if (result.profile) {
    store_.atomically([&] {
      store_.record(search.decision().measurements());
      const bool stored_was_remeasured =
          !visit.planned.profile || tried_[visit.place].contains(visit.planned.profile->configuration);
      result.was_stored = keep_winner(store_, visit.planned, *result.profile, stored_was_remeasured);
      store_.spent(journal_.run(), stop_.seconds_used_in_total());
    });
    if (result.was_stored) lessons_.known().add(*result.profile);
  }
  reporter_.finished(visit.place, result);
  return result;
}

/// Which of them is next: the first that does not wait for the compiler, of which one kernel may take as long as ten
/// searches. Where everybody waits, so does this, until somebody is ready or the time is over. The first of all in a
/// run that evaluations end, or nothing: there, what is found depends on the seed alone.
std::size_t Visits::first_compiled(std::vector<Visit>& active, std::size_t ahead) const {
  if (active.size() == 1 || !stop_.seconds_left() || stop_.evaluations_left()) return 0;
  for (Visit& visit : active) visit.search->look_ahead(ahead);
  std::size_t ready = active.size();
  const auto somebody_is_ready = [&] {
    const auto found = std::ranges::find_if(active, [](const Visit& visit) { return visit.search->is_compiled(); });
    ready = static_cast<std::size_t>(found - active.begin());
    return ready < active.size();
  };
  const auto over = [&] { return stop_.reached() || stop_.interrupted(); };
  while (!over() && !somebody_is_ready()) {
    active.front().search->wait_for_compiler([&] { return over() || somebody_is_ready(); });
  }
  return ready < active.size() ? ready : 0;
}

/// Other searches went on meanwhile, so that only what kept the run's own thread busy is this one's. A search that a
/// continued run recalls took no time.
void Visits::account(const Visit& visit, const TuningResult& result) {
  constexpr double kChoosing = 1.15;  // what is chosen and recorded comes on top
  constexpr double kLeastWeight = 0.1;
  if (!visit.planned.search || result.effort.measuring <= 0.0) return;
  const double seconds = kChoosing * (result.effort.waiting + result.effort.measuring + result.effort.verifying);
  const double weight = std::max(kLeastWeight, 1.0 / static_cast<double>(++usual_.searches));
  usual_.seconds += weight * (seconds - usual_.seconds);
  usual_.configurations += weight * (static_cast<double>(result.evaluations()) - usual_.configurations);
  usual_.first += weight * (static_cast<double>(visit.most_first) - usual_.first);
}

TuningResult Visits::give_up(Visit& visit) {
  tried_[visit.place].merge(visit.search->attempts().tried());
  TuningResult result = visit.search->result();
  lessons_.learn(*visit.search, result);
  reporter_.finished(visit.place, result);
  return result;
}

void Visits::keep(std::size_t place, TuningResult result) {
  results_[place] = std::move(result);
  reporter_.result(*results_[place]);
}

bool Visits::improve(std::size_t place, const TuningResult& later) {
  TuningResult& result = *results_[place];
  if (!result.improve(later)) return false;
  reporter_.result(result);
  return true;
}

std::size_t Visits::add_place() {
  results_.emplace_back();
  tried_.emplace_back();
  return results_.size() - 1;
}

std::vector<TuningResult> Visits::results() const {
  std::vector<TuningResult> reached;
  for (const std::optional<TuningResult>& result : results_) {
    if (result) reached.push_back(*result);
  }
  return reached;
}

std::vector<Profile> Visits::winners() const {
  std::vector<Profile> profiles;
  for (const std::optional<TuningResult>& result : results_) {
    if (result && result->profile && !result->is_between) profiles.push_back(*result->profile);
  }
  return profiles;
}

double Visits::challenge(const Visit& visit) const {
  const Attempts& attempts = visit.search->attempts();
  const auto winner = attempts.cost(results_[visit.place]->profile->configuration);
  double least = HUGE_VAL;
  for (const std::string& text : attempts.tried()) {
    const auto cost = attempts.cost(text);
    const bool fresh = !tried_[visit.place].contains(text);
    if (fresh && cost) least = std::min(least, winner ? *cost / *winner : 0.0);
  }
  return least;
}

}  // namespace heddle
