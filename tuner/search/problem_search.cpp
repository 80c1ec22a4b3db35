#include "heddle/tuner/search/problem_search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

// Configurations of a batch. Every run has the same number, so that a continued run asks the strategy the same
// questions. The number is small, so that the strategy knows most outcomes when it proposes.
constexpr std::size_t kBatch = 8;
constexpr std::size_t kTriedBefore = 4;  // configurations tried for each one of what is chosen last
// Of what is left of a run: for all values of what is chosen last, which a few searches try for all others.
constexpr double kTakingOn = 0.05;
constexpr std::size_t kDrawnForEach = 1;  // configurations with several values for each one with a single one
// Of a visit's time: for finals and verification, at most. The screening gets back what they will not take.
constexpr double kDecisionShare = 0.25;

}  // namespace

ProblemSearch::ProblemSearch(Evaluator& evaluator, Journal& journal, const TunerOptions& options,
                             const SearchedProblem& problem, SearchPlan plan, StopCondition time, Pace& pace,
                             Report report)
    : evaluator_(evaluator),
      options_(options),
      problem_(problem),
      plan_(std::move(plan)),
      stop_(std::move(time)),
      pace_(pace),
      report_(std::move(report)),
      journal_(evaluator, journal, problem_, options, plan_.visit_number),
      context_{.evaluator = evaluator,
               .options = options,
               .problem = problem_,
               .journal = journal_,
               .stop = stop_,
               .effort = effort_,
               .pace = pace},
      queue_(context_),
      attempts_(problem_),
      verdicts_(context_),
      screener_(context_, verdicts_),
      decision_(context_, attempts_, queue_, verdicts_, screener_, [this](Stage stage) { report_(stage, *this); }) {
  until_interrupted([&] { begin(plan_.first); });
}

void ProblemSearch::look_ahead(std::size_t ahead) {
  const bool only_default = !informed_ && !strategy_ && queue_.configurations() == 1;
  if (!only_default || plan_.strategy == nullptr || evaluator_.shares_processor()) return;
  until_interrupted([&] {
    start_strategy();
    static_cast<void>(propose(ahead));
  });
}

/// The first turn measures the default and, in a batch of their own, the other first configurations.
std::size_t ProblemSearch::batches_of_turn() const { return informed_ ? 1 : 2; }

bool ProblemSearch::is_compiled() const {
  try {
    return queue_.is_late() || queue_.is_done(batches_of_turn());
  } catch (const Interrupted&) {  // the turn sees to it
    return true;
  }
}

void ProblemSearch::wait_for_compiler(const Stop& enough) {
  const Stopwatch stopwatch(effort_.total, stop_);
  try {
    queue_.wait(batches_of_turn(), enough);
  } catch (const Interrupted&) {  // what is compiled so far stays
  }
}

bool ProblemSearch::take_turn(std::size_t ahead) {
  bool more = false;
  until_interrupted([&] { more = refined_.empty() && screen(ahead); });
  if (more) return true;
  until_interrupted([&] {
    if (!refined_.empty()) measure_refined();
    more = refine();
  });
  return more;
}

/// Measures what comes next of the first configurations and the strategy's. Returns whether there are more of these.
bool ProblemSearch::screen(std::size_t ahead) {
  if (informed_) return measure_batch(*screening_) && propose(ahead);
  look_ahead(ahead);
  measure_first();
  // A first guess: the time of the first configurations.
  if (pace_.batch_seconds == 0.0) pace_.batch_seconds = stop_.seconds_used();
  if (plan_.strategy == nullptr) return false;
  if (!strategy_) start_strategy();
  tell_strategy();
  return propose(ahead);
}

void ProblemSearch::decide() {
  until_interrupted([&] { decision_.reach(); });
}

/// Starts to compile for the fastest configuration what is chosen last; then for the one that this makes the fastest.
/// Returns whether there is something.
bool ProblemSearch::refine() {
  constexpr std::size_t kMostRounds = 3;
  const auto fastest = attempts_.fastest();
  const bool over =
      evaluator_.shares_processor() ? stop_.reached() : stop_.must_abandon() || stop_.seconds_left_in_total() == 0.0;
  if (!plan_.refines || !fastest || over || screener_.out_of_time() || queue_.out_of_time()) return false;
  if (refined_.size() == kMostRounds || std::ranges::find(refined_, *fastest) != refined_.end()) return false;
  std::vector<std::size_t> others = refinements_of(*fastest);
  if (others.empty()) return false;
  queue_.clear();  // what was in flight when the time for screening ended
  queue_.add(affordable(std::move(others), 0));
  refined_.push_back(*fastest);
  return !queue_.empty();
}

/// Other searches need not wait for the end of this one to know what the values are worth.
void ProblemSearch::measure_refined() {
  const double of_proposals = pace_.batch_seconds;  // of which this batch says nothing
  measure_batch(stop_);
  pace_.batch_seconds = of_proposals;
  if (plan_.last != nullptr) plan_.last->learn(problem_.problem(), attempts_.costs());
}

/// All values of what is chosen last, if the search has tried several times as many configurations, so that this takes
/// a small part of its time, however short that is; or, with some of them together, if it takes on to find out for
/// other searches what they are worth, which takes a small part of the run's. If it does not take that on, and where a
/// visit searches nothing: what is expected to be the fastest here by what is known of such values, one for several
/// that were tried. A search that tries all values tries these as well.
std::vector<std::size_t> ProblemSearch::refinements_of(std::size_t fastest) {
  const std::size_t tried = attempts_.outcomes().size();
  std::vector<std::size_t> others = problem_.refinements(fastest);
  std::erase_if(others, [&](std::size_t other) { return attempts_.find(other) != nullptr; });
  const bool tries_all = plan_.strategy != nullptr && tried >= kTriedBefore * others.size();
  if (plan_.last == nullptr) return tries_all ? others : std::vector<std::size_t>();
  if (!tries_all) {
    const std::size_t most = most_for_others();
    // Only who can try them all, in every round.
    const bool can = plan_.strategy != nullptr && !others.empty() && others.size() <= most;
    if (takes_on_) return can ? others : std::vector<std::size_t>();
    if (!refined_.empty()) return {};
    const Configuration configuration = problem_.at(fastest);
    takes_on_ = can && plan_.last->take_on(configuration, problem_.problem());
    if (takes_on_) {
      const std::size_t together = std::min(kDrawnForEach * others.size(), most - others.size());
      add_untried(plan_.last->drawn(configuration, together), others.size() + together, others);
      return others;
    }
    others.clear();
  }
  plan_.last->learn(problem_.problem(), attempts_.costs());
  const std::size_t more = tried / kTriedBefore;
  add_untried(plan_.last->worth_trying(problem_.problem(), *attempts_.find(fastest)->cost, others.size() + more),
              others.size() + more, others);
  return others;
}

/// Up to so many in all, of which those come last that the problem allows and that were not tried.
void ProblemSearch::add_untried(const std::vector<Configuration>& configurations, std::size_t most,
                                std::vector<std::size_t>& numbers) const {
  for (const Configuration& each : configurations) {
    if (numbers.size() >= most) return;
    const auto number = problem_.find(each);
    if (!number || attempts_.find(*number) != nullptr || std::ranges::find(numbers, *number) != numbers.end()) continue;
    numbers.push_back(*number);
  }
}

/// How many configurations the search may try for others, by what one took it and what is left of the run.
std::size_t ProblemSearch::most_for_others() const {
  constexpr std::int64_t kMost = 1'000'000;  // without a budget
  const double of_one = (effort_.measuring + effort_.waiting) / static_cast<double>(attempts_.outcomes().size());
  const auto most = static_cast<double>(std::clamp<std::int64_t>(stop_.evaluations_left().value_or(kMost), 0, kMost));
  const double seconds = kTakingOn * stop_.seconds_left_in_total().value_or(HUGE_VAL);
  // All that a continued run recalls took no time.
  return static_cast<std::size_t>(of_one > 0.0 ? std::min(seconds / of_one, most) : most);
}

/// Does `step`. If the user interrupts it, drops the batches in flight.
template <class Step>
void ProblemSearch::until_interrupted(const Step& step) {
  const Stopwatch stopwatch(effort_.total, stop_);
  try {
    step();
  } catch (const Interrupted&) {
    queue_.give_up();
  }
}

void ProblemSearch::begin(const std::vector<Configuration>& first) {
  for (const auto& [name, configuration] : problem_.named()) {
    if (!problem_.find(configuration)) journal_.add_forbidden(configuration);
  }
  std::vector<std::size_t> list = problem_.protected_configurations();
  for (const Configuration& configuration : first) {
    const auto index = problem_.find(configuration);
    if (index && std::find(list.begin(), list.end(), *index) == list.end()) list.push_back(*index);
  }
  if (list.empty()) return;
  queue_.limit_waiting(stop_.now());
  queue_.add({list.front()});
  list.erase(list.begin());
  // The default has to be measured even if no time is left. Where compiling other configurations would delay it, they
  // are compiled after it.
  if (evaluator_.shares_processor()) {
    uncompiled_first_ = std::move(list);
  } else {
    queue_.add(affordable(std::move(list), 1));
  }
}

/// The first of `configurations`, as many as the budget of evaluations allows after `spent` further evaluations.
std::vector<std::size_t> ProblemSearch::affordable(std::vector<std::size_t> configurations, std::int64_t spent) const {
  if (const auto left = stop_.evaluations_left()) {
    const auto rest = static_cast<std::size_t>(std::max<std::int64_t>(*left - spent, 0));
    configurations.resize(std::min(configurations.size(), rest));
  }
  return configurations;
}

void ProblemSearch::measure_first() {
  // The strategy's first proposals are compiled meanwhile, and are measured in less time than a verification takes
  // where buffers are large: verification waits for them.
  if (strategy_) verdicts_.wait();
  StopCondition always = stop_.without_budget();  // every problem that is reached ends with a profile
  bool measured = false;
  try {
    measured = !queue_.empty() && measure_batch(always);
    queue_.give_up_if_late();
    if (measured && !queue_.must_drop(stop_)) {
      if (evaluator_.shares_processor()) queue_.add(affordable(std::move(uncompiled_first_), 0));
      // Proposals count as such, but nothing ends early by costs that are not verified.
      StopCondition others = strategy_ ? screening_->slice(1.0, 1.0) : stop_.slice(1.0, 1.0);
      if (!queue_.empty()) measure_batch(others);
    }
  } catch (...) {
    screener_.record_held();
    throw;
  }
  if (verdicts_.waits()) verify_held();
  if (!strategy_ || !measured || queue_.must_drop(stop_)) queue_.clear();
}

void ProblemSearch::verify_held() {
  const Screener::Outcomes failed = screener_.verify_held();
  for (const auto& [configuration, outcome] : failed) {
    attempts_.add(configuration, outcome, Attempts::Origin::this_run);
  }
  if (!failed.empty()) attempts_.reinstate_pruned();
}

void ProblemSearch::start_strategy() {
  most_to_decide_ = kDecisionShare * stop_.seconds_left().value_or(0.0);
  screening_ = stop_.slice(1.0 - kDecisionShare, 1.0);
  screening_->end_early({.without_gain = options_.patience, .good_enough = plan_.good_enough});
  strategy_ =
      plan_.strategy->make({.space = problem_.space(), .seed = options_.seed, .expected = std::move(plan_.expected)});
}

void ProblemSearch::tell_strategy() {
  for (const auto& [configuration, tried] : attempts_.outcomes()) {
    if (!SearchedProblem::is_refined(configuration)) strategy_->observe(configuration, tried);
    screening_->observe(tried.cost);
  }
  last_batch_end_ = stop_.now();
  informed_ = true;
}

/// Starts to compile proposals until `ahead` batches are in flight. Returns whether there is something to measure.
bool ProblemSearch::propose(std::size_t ahead) {
  while (queue_.size() < ahead && !screening_->reached() && propose_batch()) {
  }
  return !queue_.empty() && !queue_.must_drop(*screening_);
}

/// Returns false if there are no proposals, or if the remaining time does not cover the batches in flight and half of
/// the new one, each as long as the last batch took.
bool ProblemSearch::propose_batch() {
  const double until_half_done = pace_.batch_seconds * (static_cast<double>(queue_.size()) + 0.5);
  if (screening_->seconds_left() && *screening_->seconds_left() < until_half_done) return false;
  const std::size_t in_flight = queue_.configurations();
  // Never more than may still be tried.
  const auto left = static_cast<std::size_t>(screening_->evaluations_left().value_or(kBatch + in_flight));
  std::vector<std::size_t> proposals = strategy_->next(std::min(kBatch, left - std::min(left, in_flight)));
  // Before it was told anything, the strategy may propose the default, which is being compiled.
  if (!informed_) std::erase(proposals, problem_.find(problem_.untuned()));
  if (proposals.empty()) return false;
  queue_.add(std::move(proposals));
  return true;
}

/// Measures the configurations of the next batch as the compiler finishes them. The strategy sees them in their order,
/// so that a continued run asks it the same questions. If not all of them could be measured, drops what else is in
/// flight and returns false.
bool ProblemSearch::measure_batch(StopCondition& stop) {
  CompileQueue::Batch batch = queue_.take(stop);
  for (std::vector<std::size_t> left = batch.configurations; !left.empty();) {
    const auto next = queue_.must_drop(stop) ? std::nullopt : queue_.next_ready(batch, left, stop);
    if (!next) {
      queue_.clear();
      return false;
    }
    const std::size_t configuration = *next;
    left.erase(std::ranges::find(left, configuration));
    Observation outcome;
    auto origin = Attempts::Origin::this_run;
    if (const auto known = journal_.recall(configuration)) {
      outcome = screener_.remember(configuration, *known);
      if (!known->own) origin = Attempts::Origin::earlier_run;
    } else {
      const auto done = queue_.wait_for(batch, configuration, stop);
      if (!done) {
        queue_.clear();
        return false;
      }
      outcome = screener_.measure(configuration, *done);
    }
    if (!journal_.count_once(configuration)) origin = Attempts::Origin::repeated;
    if (origin == Attempts::Origin::this_run) stop.count_evaluation();
    attempts_.add(configuration, outcome, origin);
    stop.observe(outcome.cost);
    report_(Stage::screening, *this);
  }
  if (informed_) {
    for (const std::size_t configuration : batch.configurations) {
      if (!SearchedProblem::is_refined(configuration))
        strategy_->observe(configuration, *attempts_.find(configuration));
    }
    pace_.batch_seconds = stop_.now() - last_batch_end_;
    last_batch_end_ = stop_.now();
    prolong_screening();
  }
  return true;
}

/// Leaves to the decision what it is expected to take, and a batch that may take longer than the last one. Where the
/// processor is shared, rounds of the finals are repeated when other programs disturb them: how often is not known.
void ProblemSearch::prolong_screening() {
  if (evaluator_.shares_processor()) return;
  screening_->leave_to_parent(std::min(decision_.expected_seconds() + pace_.batch_seconds, most_to_decide_));
}

std::optional<double> ProblemSearch::untuned() const { return named_time("default", problem_.untuned()).time; }

NamedTime ProblemSearch::named_time(const std::string& name, const Configuration& configuration) const {
  NamedTime named{
      .name = name, .configuration = configuration.text(), .time = std::nullopt, .status = Status::constraint};
  const auto index = problem_.find(configuration);
  if (!index) return named;
  if (const Observation* const tried = attempts_.find(*index)) {
    named.status = tried->status;
    if (!options_.objective) named.time = tried->cost;
  }
  if (const auto last = decision_.finalists().find(*index); last != decision_.finalists().end()) {
    named.status = last->second.status;
    named.time.reset();
    if (!last->second.failed()) named.time = median(last->second.times);
    named.yields_to_fewer_threads = last->second.yields_to_fewer_threads;
  }
  return named;
}

TuningResult ProblemSearch::result() const {
  TuningResult result;
  result.problem = problem_.problem();
  result.interrupted = !decision_.winner() && stop_.interrupted();
  result.untuned = named_time("default", problem_.untuned());
  for (const auto& [name, configuration] : problem_.named()) result.named.push_back(named_time(name, configuration));
  result.out_of_time = screener_.out_of_time();
  result.compiler_out_of_time = queue_.out_of_time();
  result.samples = screener_.samples();
  result.valid = problem_.count();
  std::map<std::size_t, Status> fates;
  for (const auto& [configuration, tried] : attempts_.outcomes()) fates[configuration] = tried.status;
  for (const auto& [configuration, finalist] : decision_.finalists()) fates[configuration] = finalist.status;
  for (const auto& [configuration, status] : fates) {
    if (!attempts_.is_repeated(configuration)) ++result.statuses[status];
  }
  result.recalled = attempts_.recalled();
  result.effort = effort_;
  if (decision_.winner()) {
    const Finalist& finalist = decision_.winner()->finalist;
    Profile profile = journal_.blank_profile(problem_.at(finalist.configuration), screener_.samples());
    profile.time = median(finalist.times);
    profile.spread = half_interquartile_range(finalist.times);
    profile.worst_error = finalist.worst_error;
    profile.ties = decision_.winner()->ties;
    result.resources = finalist.resources;
    result.energy = finalist.energy;
    if (options_.objective) result.objective = profile.value = median(finalist.costs());
    result.metrics = metrics_of(evaluator_.family(), problem_.problem(), problem_.at(finalist.configuration),
                                {.time = profile.time, .energy = finalist.energy, .resources = finalist.resources});
    result.profile = std::move(profile);
  }
  return result;
}

}  // namespace heddle
