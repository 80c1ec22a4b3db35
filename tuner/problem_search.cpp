#include "heddle/tuner/problem_search.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

// Configurations of a batch. Every run has the same number, so that a continued run asks the strategy the same
// questions. The number is small, so that the strategy knows most outcomes when it proposes.
constexpr std::size_t kBatch = 8;
// A configuration whose cost is below this factor of the pruning reference is verified at once and becomes the
// reference. Smaller gains are not worth a verification.
constexpr double kNewReference = 0.95;
constexpr double kSlowRound = 0.5;  // seconds of a round of the finals
// Messages of finalists that cannot win. A continued run recognises them in the database.
constexpr const char* kBeaten = "clearly slower than the fastest";
constexpr const char* kLosesWhenBusy = "fewer threads are the better choice where another program takes a core";

/// Adds the time that a scope takes, on the clock of the search, to one part of an Effort.
class Stopwatch {
 public:
  Stopwatch(double& seconds, const StopCondition& stop) : seconds_(seconds), stop_(stop), start_(stop.now()) {}
  ~Stopwatch() { seconds_ += stop_.now() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  const StopCondition& stop_;
  double start_;
};

}  // namespace

ProblemSearch::ProblemSearch(Evaluator& evaluator, Journal& journal, const TunerOptions& options,
                             const Problem& problem, std::int64_t visit_number, StopCondition& stop, Report report)
    : evaluator_(evaluator),
      journal_(journal),
      options_(options),
      problem_(problem),
      visit_number_(visit_number),
      stop_(stop),
      report_(std::move(report)),
      configurations_(evaluator.family().space(evaluator.device()).enumerate(problem)),
      untuned_(evaluator.family().default_configuration(evaluator.device(), problem)),
      provenance_(evaluator.provenance()),
      source_hash_(evaluator.family().source(evaluator.device().backend).hash()) {
  provenance_.seed = static_cast<std::int64_t>(options.seed);
  provenance_.strategy = options.strategy;
  for (std::size_t i = 0; i < configurations_.size(); ++i) indices_.emplace(configurations_[i].text(), i);
  for (const NamedConfiguration& named : evaluator.family().named_configurations(evaluator.device())) {
    if (auto configuration = named.configuration(problem)) named_.emplace_back(named.name, std::move(*configuration));
  }
}

std::optional<std::size_t> ProblemSearch::index_of(const Configuration& configuration) const {
  const auto found = indices_.find(configuration.text());
  if (found == indices_.end()) return std::nullopt;
  return found->second;
}

/// Does `step`. If the user interrupts it, drops the batches in flight.
template <class Step>
void ProblemSearch::until_interrupted(const Step& step) {
  const Stopwatch stopwatch(effort_.total, stop_);
  try {
    step();
  } catch (const Interrupted&) {
    batches_.clear();
    late_.reset();
  }
}

void ProblemSearch::begin(const std::vector<Configuration>& hints) {
  until_interrupted([&] { do_begin(hints); });
}

void ProblemSearch::do_begin(const std::vector<Configuration>& hints) {
  std::vector<std::size_t> first;
  const auto add = [&](const Configuration& configuration) {
    const auto index = index_of(configuration);
    if (index && std::find(first.begin(), first.end(), *index) == first.end()) first.push_back(*index);
    return index.has_value();
  };
  add(untuned_);
  for (const auto& [name, configuration] : named_) {
    if (!add(configuration)) record_forbidden(configuration);
  }
  protected_ = first;
  for (const Configuration& hint : hints) add(hint);
  if (first.empty()) return;
  samples_ = journal_.samples(problem_).value_or(0);
  begun_ = stop_.now();
  batches_.push_back(compile({first.front()}));
  first.erase(first.begin());
  // The default has to be measured even if no time is left. Where compiling other configurations would delay it, they
  // are compiled after it.
  if (evaluator_.shares_processor()) {
    uncompiled_first_ = std::move(first);
  } else {
    batches_.push_back(compile(affordable(std::move(first), 1)));
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

void ProblemSearch::screen_first() {
  until_interrupted([&] {
    StopCondition always = stop_.without_budget();  // every problem that is reached ends with a profile
    expect_compiled(begun_);
    const bool measured = !batches_.empty() && measure_next_batch(always, nullptr);
    give_up_if_late();
    if (measured && !drops_batches(stop_)) {
      if (evaluator_.shares_processor()) batches_.push_back(compile(affordable(std::move(uncompiled_first_), 0)));
      measure_next_batch(stop_, nullptr);
    }
    batches_.clear();
  });
}

bool ProblemSearch::screen(Strategy& strategy, StopCondition& stop, std::size_t ahead, double& batch_seconds) {
  bool more = false;
  until_interrupted([&] { more = do_screen(strategy, stop, ahead, batch_seconds); });
  return more;
}

bool ProblemSearch::do_screen(Strategy& strategy, StopCondition& stop, std::size_t ahead, double& batch_seconds) {
  if (!strategy_knows_) {
    strategy_knows_ = true;
    for (const auto& [configuration, tried] : attempts_) {
      strategy.observe(configuration, tried);
      stop.observe(tried.cost);
    }
  } else if (!measure_next_batch(stop, &strategy)) {
    batches_.clear();
    return false;
  } else {
    batch_seconds = stop_.now() - last_batch_end_;
  }
  last_batch_end_ = stop_.now();
  while (batches_.size() < ahead && !stop.reached() && propose(strategy, stop, batch_seconds)) {
  }
  return !batches_.empty() && !drops_batches(stop);
}

/// Where compiling and measuring share the processor, a batch in flight still costs as much as a new one, so it is
/// dropped as soon as the share of time is used up.
bool ProblemSearch::drops_batches(const StopCondition& stop) const {
  return evaluator_.shares_processor() ? stop.reached() : stop.must_abandon();
}

/// Starts to compile the strategy's next proposals. Returns false if there are none or the time is too short.
bool ProblemSearch::propose(Strategy& strategy, const StopCondition& stop, double batch_seconds) {
  const double until_half_done = batch_seconds * (static_cast<double>(batches_.size()) + 0.5);
  if (stop.seconds_left() && *stop.seconds_left() < until_half_done) return false;
  std::size_t under_way = 0;
  for (const Batch& batch : batches_) under_way += batch.configurations.size();
  // Never more than may still be tried.
  const auto left = static_cast<std::size_t>(stop.evaluations_left().value_or(kBatch + under_way));
  Batch batch = compile(strategy.next(std::min(kBatch, left - std::min(left, under_way))));
  if (batch.configurations.empty()) return false;
  batches_.push_back(std::move(batch));
  return true;
}

/// Measures the next batch. Returns whether the whole batch was measured.
bool ProblemSearch::measure_next_batch(StopCondition& stop, Strategy* strategy) {
  Batch batch = std::move(batches_.front());
  batches_.pop_front();
  return measure_batch(batch, stop, strategy);
}

ProblemSearch::Batch ProblemSearch::compile(std::vector<std::size_t> configurations) {
  Batch batch;
  std::vector<Configuration> list;
  for (const std::size_t index : configurations) {
    if (recall(index)) continue;
    batch.compiling.push_back(index);
    list.push_back(configurations_[index]);
  }
  if (!list.empty()) batch.compilation = evaluator_.compile(list, problem_);
  batch.configurations = std::move(configurations);
  return batch;
}

/// Waits for one more configuration of the batch to be compiled. Returns false if there is none, or if `stop` ends
/// first: a compiler may hang.
bool ProblemSearch::wait_for_one(Batch& batch, const StopCondition& stop) {
  if (!batch.compilation) return false;
  const Stopwatch stopwatch(effort_.waiting, stop_);
  std::optional<Compilation::Done> done;
  try {
    done = batch.compilation->next([&] {
      if (is_late()) late_->given_up = true;
      return is_late() || stop.must_abandon();
    });
  } catch (const Interrupted&) {
    return false;
  }
  if (!done) return false;
  const std::size_t configuration = batch.compiling[done->index];
  effort_.compiling += done->seconds;
  compiled_.insert(configuration);
  batch.ready.emplace(configuration, std::move(*done));
  return true;
}

void ProblemSearch::wait_for_all(Batch& batch, const StopCondition& stop) {
  while (!drops_batches(stop) && wait_for_one(batch, stop)) {
  }
  // Kernels that the compiler has begun are finished: they go to the cache, where other searches find them.
  if (batch.compilation && drops_batches(stop)) batch.compilation->wind_up();
  while (wait_for_one(batch, stop)) {
  }
}

/// Waits for this configuration. Nothing if the search ends first.
std::optional<Compilation::Done> ProblemSearch::wait_for(Batch& batch, std::size_t configuration,
                                                         const StopCondition& stop) {
  while (!batch.ready.contains(configuration)) {
    if (drops_batches(stop) || !wait_for_one(batch, stop)) return std::nullopt;
  }
  return std::move(batch.ready.extract(configuration).mapped());
}

/// Measures the configurations in their order, not in the order in which the compiler finishes: a continued run then
/// sees the same. Returns whether the whole batch was measured.
bool ProblemSearch::measure_batch(Batch& batch, StopCondition& stop, Strategy* strategy) {
  if (evaluator_.shares_processor()) wait_for_all(batch, stop);
  for (const std::size_t configuration : batch.configurations) {
    if (drops_batches(stop)) return false;
    Observation observation;
    bool by_this_run = true;
    if (const auto known = recall(configuration)) {
      observation = remember(configuration, *known);
      by_this_run = known->own;
    } else {
      const auto done = wait_for(batch, configuration, stop);
      if (!done) return false;
      observation = measure(configuration, *done);
    }
    if (!journal_.count_once(problem_, configurations_[configuration].text())) {
      repeated_.insert(configuration);
    } else if (by_this_run) {
      stop.count_evaluation();
    } else {
      ++recalled_;
    }
    attempts_[configuration] = observation;
    stop.observe(observation.cost);
    if (strategy != nullptr) strategy->observe(configuration, observation);
    report_(Stage::screening, *this);
  }
  return true;
}

std::optional<Recollection> ProblemSearch::recall(std::size_t configuration) {
  return journal_.recall(problem_, configurations_[configuration].text(), visit_number_);
}

/// Treats a recalled configuration as if it had been measured now.
Observation ProblemSearch::remember(std::size_t configuration, const Recollection& known) {
  if (!may_become_reference(known.observation)) return known.observation;
  if (known.own) {  // verified by this run: if that had failed, the journal would have returned the failure
    prune_reference_ = known.observation.cost;
    return known.observation;
  }
  Screened screened{.measurement = blank(configurations_[configuration]), .cost = known.observation.cost};
  screened.measurement.status = known.observation.status;
  verify_as_reference(configuration, screened);
  const Observation observation{.status = screened.measurement.status, .cost = screened.cost};
  if (observation.status != known.observation.status) {
    journal_.add(std::move(screened.measurement));
    check_device(observation.status);
  }
  return observation;
}

Measurement ProblemSearch::blank(const Configuration& configuration) const {
  Measurement measurement;
  measurement.key = {
      .device = evaluator_.device(), .family = std::string(evaluator_.family().name()), .problem = problem_};
  measurement.source_hash = source_hash_;
  measurement.configuration = configuration.text();
  measurement.samples = samples_;
  measurement.run = journal_.run().id;
  measurement.provenance = provenance_;
  return measurement;
}

void ProblemSearch::record_forbidden(const Configuration& configuration) {
  const auto constraint = evaluator_.family().space(evaluator_.device()).violated(configuration, problem_);
  if (!constraint || journal_.recall(problem_, configuration.text(), visit_number_)) return;
  Measurement measurement = blank(configuration);
  measurement.status = Status::constraint;
  measurement.message = *constraint;
  journal_.add(std::move(measurement));
}

Observation ProblemSearch::measure(std::size_t configuration, const Compilation::Done& done) {
  Screened screened{.measurement = blank(configurations_[configuration]), .cost = std::nullopt};
  screened.measurement.compile_seconds = done.seconds;
  if (done.compiled) {
    const Stopwatch stopwatch(effort_.measuring, stop_);
    if (samples_ == 0) find_samples(configuration);
    screened.measurement.samples = samples_;
    // A named configuration is there for comparison. It may be far slower and is not stopped, so it gets fewer samples.
    if (is_protected(configuration) && configurations_[configuration] != untuned_) {
      screened.measurement.samples =
          std::min(samples_, choose_samples(evaluator_, configurations_[configuration], problem_));
    }
    ScreeningLimits limits{.repetitions = options_.screening_repetitions, .prune_above = std::nullopt};
    if (prune_reference_ && !is_protected(configuration))
      limits.prune_above = *prune_reference_ * options_.prune_factor;
    screened = heddle::screen(evaluator_, configurations_[configuration], std::move(screened.measurement), limits);
  } else {
    screened.measurement.status = Status::compilation;
    screened.measurement.message = first_complaint(done.log);
  }
  if (may_become_reference({.status = screened.measurement.status, .cost = screened.cost}))
    verify_as_reference(configuration, screened);
  const Observation observation{.status = screened.measurement.status, .cost = screened.cost};
  screened.measurement.cost = screened.cost;
  journal_.add(std::move(screened.measurement));
  check_device(observation.status);
  return observation;
}

/// From here until give_up_if_late() the compiler is waited for to the end of the budget and beyond, but not for ever.
/// `start`: when it began, on the clock of stop_.
void ProblemSearch::expect_compiled(double start) {
  constexpr double kLeast = 20.0;  // the slowest untuned default takes 14 s on a busy machine
  const auto left = stop_.seconds_left_in_total();
  if (left) late_ = Late{.seconds = std::max(kLeast, pilot_limit(*left)), .start = start};
}

bool ProblemSearch::is_late() const { return late_ && stop_.now() - late_->start > late_->seconds; }

/// Throws Interrupted if the compiler was given up.
void ProblemSearch::give_up_if_late() {
  const auto late = std::exchange(late_, std::nullopt);
  if (!late || !late->given_up) return;
  compiler_out_of_time_ = late->seconds;
  throw Interrupted();
}

double ProblemSearch::pilot_limit(double seconds_left) {
  constexpr double kPart = 0.25, kLeast = 5.0;
  return std::max(kLeast, kPart * seconds_left);
}

void ProblemSearch::find_samples(std::size_t configuration) {
  const auto left = stop_.seconds_left_in_total();
  const double seconds = pilot_limit(left.value_or(0.0)), start = stop_.now();
  const auto too_late = [&] { return left && stop_.now() - start > seconds; };
  try {
    samples_ = choose_samples(evaluator_, configurations_[configuration], problem_, too_late);
  } catch (const Interrupted&) {
    if (!stop_.interrupted()) out_of_time_ = seconds;
    throw;
  }
}

bool ProblemSearch::may_become_reference(const Observation& observation) const {
  return observation.status == Status::unverified &&
         (!prune_reference_ || *observation.cost < kNewReference * *prune_reference_);
}

/// Verifies a configuration before others are pruned against it: a kernel that computes too little is often the
/// fastest. One run on the problem's own shape finds most faults; a winner has to pass all runs.
void ProblemSearch::verify_as_reference(std::size_t configuration, Screened& screened) {
  const Stopwatch stopwatch(effort_.verifying, stop_);
  const Verdict verdict = evaluator_.verify(configurations_[configuration], problem_, VerificationExtent::one_run);
  if (verdict.status == Status::correct) {
    prune_reference_ = screened.cost;
    return;
  }
  screened.measurement.status = verdict.status;
  screened.measurement.message = verdict.message;
  screened.measurement.worst_error = verdict.worst_error;
  screened.measurement.times.clear();
  screened.cost.reset();
}

const Verdict& ProblemSearch::verify(std::size_t configuration) {
  const auto found = verdicts_.find(configuration);
  if (found != verdicts_.end()) return found->second;
  const Stopwatch stopwatch(effort_.verifying, stop_);
  Verdict verdict = evaluator_.verify(configurations_[configuration], problem_, VerificationExtent::all);
  if (verdict.status == Status::correct) {
    Verdict timed = evaluator_.verify_timed_run(configurations_[configuration], problem_, samples_, untuned_);
    if (timed.status != Status::correct) verdict = std::move(timed);
  }
  return verdicts_.emplace(configuration, std::move(verdict)).first->second;
}

bool ProblemSearch::is_protected(std::size_t configuration) const {
  return std::find(protected_.begin(), protected_.end(), configuration) != protected_.end();
}

void ProblemSearch::check_device(Status status) {
  if (takes_device_down(status)) evaluator_.check_device();
}

std::set<std::string> ProblemSearch::tried() const {
  std::set<std::string> texts;
  for (const auto& [configuration, tried] : attempts_) texts.insert(configurations_[configuration].text());
  return texts;
}

std::optional<double> ProblemSearch::cost(const std::string& configuration) const {
  const auto index = indices_.find(configuration);
  if (index == indices_.end()) return std::nullopt;
  const auto tried = attempts_.find(index->second);
  return tried == attempts_.end() ? std::nullopt : tried->second.cost;
}

std::vector<std::pair<Configuration, double>> ProblemSearch::costs() const {
  std::vector<std::pair<Configuration, double>> costs;
  for (const auto& [configuration, tried] : attempts_) {
    if (tried.cost) costs.emplace_back(configurations_[configuration], *tried.cost);
  }
  return costs;
}

std::optional<double> ProblemSearch::best() const {
  std::optional<double> fastest;
  for (const auto& [configuration, tried] : attempts_) {
    if (tried.status == Status::unverified && (!fastest || *tried.cost < *fastest)) fastest = tried.cost;
  }
  return fastest;
}

std::optional<double> ProblemSearch::untuned() const { return named_time("default", untuned_).time; }

void ProblemSearch::decide() {
  until_interrupted([&] { do_decide(); });
}

void ProblemSearch::do_decide() {
  if (recall_finals()) return;
  while (!winner_ && !stop_.interrupted()) {
    std::vector<Finalist> finalists = next_finalists();
    if (finalists.empty()) return;
    compile_finalists(finalists);
    report_(Stage::finals, *this);
    {
      const Stopwatch stopwatch(effort_.measuring, stop_);
      run_finals(
          finalists,
          [this](std::size_t index) { return evaluator_.prepare(configurations_[index], problem_, samples_); },
          {.minimum_rounds = options_.minimum_repetitions,
           .maximum_rounds = options_.maximum_repetitions,
           .seed = options_.seed},
          [&, before = stop_.now()](int round) {
            // Slow rounds are not repeated after the budget is used up.
            const bool slow = round > 0 && (stop_.now() - before) / round > kSlowRound;
            return stop_.interrupted() || (round >= 2 * options_.minimum_repetitions && stop_.reached()) ||
                   (slow && stop_.must_abandon());
          });
    }
    for (const Finalist& finalist : finalists) {
      if (finalist.failed()) record(finalist);
    }
    choose_winner(finalists, false);
    bool finalist_failed = false;  // a finalist failed, so a slower configuration may win
    for (Finalist& finalist : finalists) {
      finalist_failed = finalist_failed || finalist.failed();
      if (!finalist.failed() && finalist.times.empty()) continue;  // did not get to run
      if (!finalist.failed()) record(finalist);
      finals_[finalist.configuration] = std::move(finalist);
    }
    if (winner_ && finalist_failed && faster_is_waiting(median(winner_->finalist.times))) winner_.reset();
  }
}

/// Compiles in one batch the finalists that only an earlier process has compiled.
void ProblemSearch::compile_finalists(const std::vector<Finalist>& finalists) {
  Batch batch;
  std::vector<Configuration> list;
  for (const Finalist& finalist : finalists) {
    if (!compiled_.insert(finalist.configuration).second) continue;
    batch.compiling.push_back(finalist.configuration);
    list.push_back(configurations_[finalist.configuration]);
  }
  if (list.empty()) return;
  batch.compilation = evaluator_.compile(list, problem_);
  const StopCondition always = stop_.without_budget();
  expect_compiled(stop_.now());
  while (wait_for_one(batch, always)) {
  }
  give_up_if_late();
}

/// Takes the finals of this visit from the journal. Returns whether an earlier process had finished them.
bool ProblemSearch::recall_finals() {
  std::vector<Finalist> finalists;
  bool concluded = false;
  for (const Measurement& known : journal_.finals(problem_, visit_number_)) {
    const auto index = indices_.find(known.configuration);
    if (index == indices_.end()) continue;
    Finalist& finalist = finalists.emplace_back();
    finalist.configuration = index->second;
    finalist.times = known.times;
    finalist.message = known.message;
    finalist.worst_error = known.worst_error;
    finalist.yields_to_fewer_threads = known.message == kLosesWhenBusy;
    finalist.beaten = known.status == Status::unverified && !known.message.empty() && !finalist.yields_to_fewer_threads;
    const bool failed = known.times.empty();
    if (failed) reinstate_pruned();
    if (failed || known.status == Status::correct) {
      verdicts_[finalist.configuration] = {
          .status = known.status, .worst_error = known.worst_error, .message = known.message};
    }
    finalist.status = failed ? known.status : Status::unverified;
    samples_ = known.samples;
    concluded = concluded || !failed;
  }
  if (concluded) choose_winner(finalists, true);
  for (Finalist& finalist : finalists) finals_[finalist.configuration] = std::move(finalist);
  return concluded;
}

/// The fastest configurations of the screening that have not failed since; the default; the named ones unless they are
/// far slower. On a CPU also the configuration most like the fastest with fewer threads.
std::vector<Finalist> ProblemSearch::next_finalists() {
  std::vector<std::pair<double, std::size_t>> fastest;
  for (const auto& [configuration, tried] : attempts_) {
    const auto past = finals_.find(configuration);
    const bool failed = past != finals_.end() && past->second.failed();
    if (tried.status == Status::unverified && !failed) fastest.emplace_back(*tried.cost, configuration);
  }
  std::sort(fastest.begin(), fastest.end());
  const double most_behind = evaluator_.shares_processor() ? options_.finalist_factor : options_.quiet_finalist_factor;
  std::vector<Finalist> finalists;
  for (const auto& [cost, configuration] : fastest) {
    const double behind = cost / fastest.front().first;
    if ((behind <= most_behind && finalists.size() < options_.finalists) ||
        (behind <= options_.prune_factor && is_protected(configuration)) ||
        configurations_[configuration] == untuned_) {
      finalists.emplace_back().configuration = configuration;
    }
  }
  if (finalists.empty()) return finalists;
  const auto twin = twin_with_fewer_threads(fastest.front().second);
  if (twin && std::ranges::find(finalists, *twin, &Finalist::configuration) == finalists.end()) {
    finalists.emplace_back().configuration = *twin;
  }
  return finalists;
}

/// Whether a configuration that was never in the finals was screened faster than `time`.
bool ProblemSearch::faster_is_waiting(double time) const {
  return std::any_of(attempts_.begin(), attempts_.end(), [&](const auto& entry) {
    const auto& [configuration, tried] = entry;
    return tried.status == Status::unverified && *tried.cost < time && !finals_.contains(configuration);
  });
}

void ProblemSearch::choose_winner(std::vector<Finalist>& finalists, bool recalled) {
  report_(Stage::verification, *this);
  provenance_.clocks = evaluator_.provenance().clocks;  // as seen under load
  for (Ranking ranking = rank(finalists); !ranking.order.empty() && !stop_.interrupted(); ranking = rank(finalists)) {
    const auto tied = ranking.order.begin() + static_cast<std::ptrdiff_t>(ranking.ties);
    const auto simplest = std::min_element(ranking.order.begin(), tied, [&](std::size_t a, std::size_t b) {
      const std::size_t first = finalists[a].configuration;
      const std::size_t second = finalists[b].configuration;
      return std::tuple(host_threads(first), differing_parameters(first, untuned_), first) <
             std::tuple(host_threads(second), differing_parameters(second, untuned_), second);
    });
    Finalist& candidate = finalists[*simplest];
    if (!recalled && fewer_threads_win(candidate, finalists)) {
      candidate.yields_to_fewer_threads = true;
      continue;
    }
    const Verdict& verdict = verify(candidate.configuration);
    candidate.status = verdict.status;
    candidate.message = verdict.message;
    candidate.worst_error = verdict.worst_error;
    if (verdict.status != Status::correct) {
      record(candidate);
      reinstate_pruned();
      continue;
    }
    winner_ = Winner{.finalist = candidate, .ties = {}};
    for (auto other = ranking.order.begin(); other != tied; ++other) {
      if (other != simplest) winner_->ties.push_back(configurations_[finalists[*other].configuration].text());
    }
    return;
  }
}

/// Whether the fastest finalist with fewer host threads is the better choice on a machine that may be busy. More
/// threads are preferred only if they gain more on a quiet machine than they lose while one core is busy.
bool ProblemSearch::fewer_threads_win(const Finalist& candidate, const std::vector<Finalist>& finalists) {
  const Finalist* other = nullptr;
  for (const Finalist& finalist : finalists) {
    if (finalist.failed() || finalist.times.empty()) continue;
    if (host_threads(finalist.configuration) >= host_threads(candidate.configuration)) continue;
    if (other == nullptr || median(finalist.times) < median(other->times)) other = &finalist;
  }
  if (other == nullptr || verify(other->configuration).status != Status::correct) return false;
  const double gain = median(other->times) / median(candidate.times);
  const auto loss = busy_core_ratio(candidate.configuration, other->configuration);
  return loss && *loss > std::min(gain, options_.max_busy_core_loss);
}

/// Time of `configuration` divided by the time of `other` while one core is busy, measured in turns. Nothing if the
/// device cannot be shared in this way, or if one of them fails.
std::optional<double> ProblemSearch::busy_core_ratio(std::size_t configuration, std::size_t other) {
  const Stopwatch stopwatch(effort_.measuring, stop_);
  try {
    const auto first = evaluator_.prepare(configurations_[configuration], problem_, samples_);
    const auto second = evaluator_.prepare(configurations_[other], problem_, samples_);
    double times = 0.0, other_times = 0.0;
    for (int i = 0; i < options_.busy_core_repetitions && !stop_.interrupted(); ++i) {
      const auto time = first->busy_core_time();
      const auto other_time = time ? second->busy_core_time() : std::nullopt;
      if (!other_time) return std::nullopt;
      times += *time;
      other_times += *other_time;
    }
    if (other_times > 0.0) return times / other_times;
  } catch (const DeviceFailure& failure) {
    check_device(failure.status());
  }
  return std::nullopt;
}

/// Among the configurations with fewer host threads the one most like this; of equally similar ones the one with the
/// most threads.
std::optional<std::size_t> ProblemSearch::twin_with_fewer_threads(std::size_t configuration) const {
  const std::int64_t threads = host_threads(configuration);
  std::optional<std::size_t> twin;
  if (threads <= 1) return twin;
  const auto rank = [&](std::size_t other) {
    return std::pair(differing_parameters(other, configurations_[configuration]), -host_threads(other));
  };
  for (std::size_t other = 0; other < configurations_.size(); ++other) {
    const auto tried = attempts_.find(other);
    const bool failed = tried != attempts_.end() && !tried->second.cost;
    if (failed || host_threads(other) >= threads) continue;
    if (!twin || rank(other) < rank(*twin)) twin = other;
  }
  return twin;
}

std::int64_t ProblemSearch::host_threads(std::size_t configuration) const {
  return evaluator_.family().host_threads(configurations_[configuration], evaluator_.device());
}

/// Makes pruned configurations candidates again, with their lower bounds as costs: they may have been pruned against a
/// configuration that turned out to be wrong.
void ProblemSearch::reinstate_pruned() {
  for (auto& [configuration, tried] : attempts_) {
    if (tried.status == Status::pruned) tried.status = Status::unverified;
  }
}

/// Records a failed finalist at once. Keeps the measurement of the others until the decision is recorded.
void ProblemSearch::record(const Finalist& finalist) {
  Measurement measurement = blank(configurations_[finalist.configuration]);
  measurement.status = finalist.status;
  measurement.message = finalist.message;
  measurement.worst_error = finalist.worst_error;
  measurement.visit = visit_number_;
  if (finalist.failed()) {
    journal_.add(std::move(measurement));
    check_device(finalist.status);
    return;
  }
  if (finalist.beaten) measurement.message = kBeaten;
  if (finalist.yields_to_fewer_threads) measurement.message = kLosesWhenBusy;
  measurement.times = finalist.times;
  measurement.cost = median(finalist.times);
  final_measurements_.push_back(std::move(measurement));
}

/// Number of parameters whose value differs from that in `from`.
std::size_t ProblemSearch::differing_parameters(std::size_t configuration, const Configuration& from) const {
  const auto& from_entries = from.entries();
  const auto& entries = configurations_[configuration].entries();
  const auto known = [&](const Configuration::Entry& entry) {
    return std::find(from_entries.begin(), from_entries.end(), entry) != from_entries.end();
  };
  return static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), std::not_fn(known)));
}

NamedTime ProblemSearch::named_time(const std::string& name, const Configuration& configuration) const {
  NamedTime named{
      .name = name, .configuration = configuration.text(), .time = std::nullopt, .status = Status::constraint};
  const auto index = index_of(configuration);
  const auto tried = index ? attempts_.find(*index) : attempts_.end();
  if (tried != attempts_.end()) {
    named.status = tried->second.status;
    named.time = tried->second.cost;
  }
  if (const auto last = index ? finals_.find(*index) : finals_.end(); last != finals_.end()) {
    named.status = last->second.status;
    named.time.reset();
    if (!last->second.failed()) named.time = median(last->second.times);
  }
  return named;
}

TuningResult ProblemSearch::result() const {
  TuningResult result;
  result.problem = problem_;
  result.interrupted = !winner_ && stop_.interrupted();
  result.untuned = named_time("default", untuned_);
  for (const auto& [name, configuration] : named_) result.named.push_back(named_time(name, configuration));
  result.out_of_time = out_of_time_;
  result.compiler_out_of_time = compiler_out_of_time_;
  result.samples = samples_;
  result.valid = configurations_.size();
  std::map<std::size_t, Status> fates;
  for (const auto& [configuration, tried] : attempts_) fates[configuration] = tried.status;
  for (const auto& [configuration, finalist] : finals_) fates[configuration] = finalist.status;
  for (const auto& [configuration, status] : fates) {
    if (!repeated_.contains(configuration)) ++result.statuses[status];
  }
  result.recalled = static_cast<std::int64_t>(recalled_);
  result.effort = effort_;
  if (winner_) {
    const Finalist& finalist = winner_->finalist;
    result.profile = Profile{.key = blank(configurations_[finalist.configuration]).key,
                             .source_hash = source_hash_,
                             .configuration = configurations_[finalist.configuration].text(),
                             .time = median(finalist.times),
                             .spread = half_interquartile_range(finalist.times),
                             .worst_error = finalist.worst_error,
                             .samples = samples_,
                             .ties = winner_->ties,
                             .imported = false,
                             .run = journal_.run().id,
                             .provenance = provenance_};
  }
  return result;
}

}  // namespace heddle
