#include "heddle/tuner/problem_search.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

// Configurations that are compiled at once. The same for every run, so that a run that is continued asks the strategy
// the same questions; small, so that it answers knowing most of what was tried.
constexpr std::size_t kBatch = 8;
// Who is this much faster than the bar is verified at once and becomes the bar; smaller steps do not pay for that.
constexpr double kNewBar = 0.95;
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
                             const Problem& problem, std::int64_t visit, StopCondition& stop, Report report)
    : evaluator_(evaluator),
      journal_(journal),
      options_(options),
      problem_(problem),
      visit_(visit),
      stop_(stop),
      report_(std::move(report)),
      configurations_(evaluator.family().space(evaluator.device()).enumerate(problem)),
      default_(evaluator.family().default_configuration(evaluator.device(), problem)),
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

/// Does `work`; where somebody asks to stop, what is under way is dropped.
template <class Work>
void ProblemSearch::until_interrupted(const Work& work) {
  const Stopwatch stopwatch(effort_.total, stop_);
  try {
    work();
  } catch (const Interrupted&) {
    batches_.clear();
  }
}

void ProblemSearch::begin(const std::vector<Configuration>& hints) {
  until_interrupted([&] { compile_first(hints); });
}

void ProblemSearch::compile_first(const std::vector<Configuration>& hints) {
  std::vector<std::size_t> first;
  const auto add = [&](const Configuration& configuration) {
    const auto index = index_of(configuration);
    if (index && std::find(first.begin(), first.end(), *index) == first.end()) first.push_back(*index);
    return index.has_value();
  };
  add(default_);
  for (const auto& [name, configuration] : named_) {
    if (!add(configuration)) record_forbidden(configuration);
  }
  protected_ = first;
  for (const Configuration& hint : hints) add(hint);
  if (first.empty()) return;
  samples_ = journal_.samples(problem_).value_or(0);
  batches_.push_back(compile({first.front()}));
  first.erase(first.begin());
  // Where compiling would delay the default, which has to be tried even if there is no time left, the rest comes later.
  if (evaluator_.shares_processor()) {
    later_ = std::move(first);
  } else {
    batches_.push_back(compile(affordable(std::move(first), 1)));
  }
}

/// As many as may still be tried when `spent` evaluations more have been made.
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
    if (!batches_.empty() && try_next(always, nullptr) && !ended(stop_)) {
      if (evaluator_.shares_processor()) batches_.push_back(compile(affordable(std::move(later_), 0)));
      try_next(stop_, nullptr);
    }
    batches_.clear();
  });
}

bool ProblemSearch::screen(Strategy& strategy, StopCondition& stop, std::size_t ahead, double& turn) {
  bool more = false;
  until_interrupted([&] { more = try_some(strategy, stop, ahead, turn); });
  return more;
}

bool ProblemSearch::try_some(Strategy& strategy, StopCondition& stop, std::size_t ahead, double& turn) {
  if (!strategy_knows_) {
    strategy_knows_ = true;
    for (const auto& [configuration, tried] : attempts_) {
      strategy.observe(configuration, tried);
      stop.observe(tried.cost);
    }
  } else if (!try_next(stop, &strategy)) {
    batches_.clear();
    return false;
  } else {
    turn = stop_.now() - last_turn_;
  }
  last_turn_ = stop_.now();
  while (batches_.size() < ahead && !stop.reached() && propose(strategy, stop, turn)) {
  }
  return !batches_.empty() && !ended(stop);
}

/// Whether even what was begun is left as it is. Where a kernel costs as much to measure as to compile, there is no
/// reason to take more than one's share.
bool ProblemSearch::ended(const StopCondition& stop) const {
  return evaluator_.shares_processor() ? stop.reached() : stop.over();
}

/// Starts to compile what the strategy wants next. Returns whether it wants anything.
bool ProblemSearch::propose(Strategy& strategy, const StopCondition& stop, double turn) {
  const double half_tried = turn * (static_cast<double>(batches_.size()) + 0.5);
  if (stop.seconds_left() && *stop.seconds_left() < half_tried) return false;
  std::size_t under_way = 0;
  for (const Batch& batch : batches_) under_way += batch.configurations.size();
  // Never more than may still be tried.
  const auto left = static_cast<std::size_t>(stop.evaluations_left().value_or(kBatch + under_way));
  Batch batch = compile(strategy.next(std::min(kBatch, left - std::min(left, under_way))));
  if (batch.configurations.empty()) return false;
  batches_.push_back(std::move(batch));
  return true;
}

/// The next batch. Returns whether it got to the end.
bool ProblemSearch::try_next(StopCondition& stop, Strategy* strategy) {
  Batch batch = std::move(batches_.front());
  batches_.pop_front();
  return try_all(batch, stop, strategy);
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

/// One more of what is being compiled. Returns whether there was one before `stop` was over: a compiler may hang.
bool ProblemSearch::wait(Batch& batch, const StopCondition& stop) {
  if (!batch.compilation) return false;
  const Stopwatch stopwatch(effort_.waiting, stop_);
  std::optional<Compilation::Done> done;
  try {
    done = batch.compilation->next([&] { return stop.over(); });
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
  while (!ended(stop) && wait(batch, stop)) {
  }
  // What the compiler is at will be in the cache for others who need it.
  if (batch.compilation && ended(stop)) batch.compilation->wind_up();
  while (wait(batch, stop)) {
  }
}

/// Nothing if the search is over before it is compiled.
std::optional<Compilation::Done> ProblemSearch::take(Batch& batch, std::size_t configuration,
                                                     const StopCondition& stop) {
  while (!batch.ready.contains(configuration)) {
    if (ended(stop) || !wait(batch, stop)) return std::nullopt;
  }
  return std::move(batch.ready.extract(configuration).mapped());
}

/// In order, whichever the compiler is done with first: a run that is continued sees the same. Returns whether it got
/// to the end.
bool ProblemSearch::try_all(Batch& batch, StopCondition& stop, Strategy* strategy) {
  if (evaluator_.shares_processor()) wait_for_all(batch, stop);
  for (const std::size_t configuration : batch.configurations) {
    if (ended(stop)) return false;
    Observation observation;
    bool by_this_run = true;
    if (const auto known = recall(configuration)) {
      observation = remember(configuration, *known);
      by_this_run = known->own;
    } else {
      const auto done = take(batch, configuration, stop);
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
  return journal_.recall(problem_, configurations_[configuration].text(), visit_);
}

/// As if it had been measured now.
Observation ProblemSearch::remember(std::size_t configuration, const Recollection& known) {
  if (!raises_bar(known.observation)) return known.observation;
  if (known.own) {  // it was verified then, or it would have failed
    bar_ = known.observation.cost;
    return known.observation;
  }
  Screened screened{.measurement = blank(configurations_[configuration]), .cost = known.observation.cost};
  screened.measurement.status = known.observation.status;
  raise_bar(configuration, screened);
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
  if (!constraint || journal_.recall(problem_, configuration.text(), visit_)) return;
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
    // What is only there to be compared with may be far slower, and is not stopped.
    if (spared(configuration) && configurations_[configuration] != default_) {
      screened.measurement.samples =
          std::min(samples_, choose_samples(evaluator_, configurations_[configuration], problem_));
    }
    ScreeningLimits limits{.repetitions = options_.screening_repetitions, .hopeless = std::nullopt};
    if (bar_ && !spared(configuration)) limits.hopeless = *bar_ * options_.hopeless;
    screened = heddle::screen(evaluator_, configurations_[configuration], std::move(screened.measurement), limits);
  } else {
    screened.measurement.status = Status::compilation;
    screened.measurement.message = first_complaint(done.log);
  }
  if (raises_bar({.status = screened.measurement.status, .cost = screened.cost})) raise_bar(configuration, screened);
  const Observation observation{.status = screened.measurement.status, .cost = screened.cost};
  screened.measurement.cost = screened.cost;
  journal_.add(std::move(screened.measurement));
  check_device(observation.status);
  return observation;
}

double ProblemSearch::first_run_seconds(double left) {
  constexpr double kPart = 0.25, kLeast = 5.0;
  return std::max(kLeast, kPart * left);
}

void ProblemSearch::find_samples(std::size_t configuration) {
  const auto left = stop_.seconds_left_of_whole();
  const double seconds = first_run_seconds(left.value_or(0.0)), start = stop_.now();
  const auto too_late = [&] { return left && stop_.now() - start > seconds; };
  try {
    samples_ = choose_samples(evaluator_, configurations_[configuration], problem_, too_late);
  } catch (const Interrupted&) {
    if (!stop_.interrupted()) out_of_time_ = seconds;
    throw;
  }
}

bool ProblemSearch::raises_bar(const Observation& observation) const {
  return observation.status == Status::unverified && (!bar_ || *observation.cost < kNewBar * *bar_);
}

/// Nothing unverified may prune others: what computes too little is often the fastest. One run on each shape tells most
/// of it; what wins has to pass them all.
void ProblemSearch::raise_bar(std::size_t configuration, Screened& screened) {
  const Stopwatch stopwatch(effort_.verifying, stop_);
  const Verdict verdict = evaluator_.verify(configurations_[configuration], problem_, VerificationExtent::first_runs);
  if (verdict.status == Status::correct) {
    bar_ = screened.cost;
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
    Verdict timed = evaluator_.verify_timed_run(configurations_[configuration], problem_, samples_, default_);
    if (timed.status != Status::correct) verdict = std::move(timed);
  }
  return verdicts_.emplace(configuration, std::move(verdict)).first->second;
}

bool ProblemSearch::spared(std::size_t configuration) const {
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

std::optional<double> ProblemSearch::baseline() const { return named_time("default", default_).time; }

void ProblemSearch::decide() {
  until_interrupted([&] { find_winner(); });
}

void ProblemSearch::find_winner() {
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
            // Rounds that take seconds are not repeated beyond the budget.
            const bool slow = round > 0 && (stop_.now() - before) / round > kSlowRound;
            return stop_.interrupted() || (round >= 2 * options_.minimum_repetitions && stop_.reached()) ||
                   (slow && stop_.over());
          });
    }
    for (const Finalist& finalist : finalists) {
      if (finalist.failed()) record(finalist);
    }
    crown(finalists, false);
    bool surprise = false;  // somebody who was to be one of the fastest is out
    for (Finalist& finalist : finalists) {
      surprise = surprise || finalist.failed();
      if (!finalist.failed() && finalist.times.empty()) continue;  // did not get to run
      if (!finalist.failed()) record(finalist);
      finals_[finalist.configuration] = std::move(finalist);
    }
    if (winner_ && surprise && faster_is_waiting(median(winner_->finalist.times))) winner_.reset();
  }
}

/// What only an earlier process has compiled is compiled at once, not one by one when it is needed.
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
  while (wait(batch, always)) {
  }
}

/// Returns whether an earlier process had come to the end of them.
bool ProblemSearch::recall_finals() {
  std::vector<Finalist> finalists;
  bool concluded = false;
  for (const Measurement& known : journal_.finals(problem_, visit_)) {
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
    if (failed) reopen_pruned();
    if (failed || known.status == Status::correct) {
      verdicts_[finalist.configuration] = {
          .status = known.status, .worst_error = known.worst_error, .message = known.message};
    }
    finalist.status = failed ? known.status : Status::unverified;
    samples_ = known.samples;
    concluded = concluded || !failed;
  }
  if (concluded) crown(finalists, true);
  for (Finalist& finalist : finalists) finals_[finalist.configuration] = std::move(finalist);
  return concluded;
}

/// The fastest of the screening that have not failed since, and the default and the named ones if they may be among
/// them; on the machine's own processor one with fewer threads as well.
std::vector<Finalist> ProblemSearch::next_finalists() {
  std::vector<std::pair<double, std::size_t>> fastest;
  for (const auto& [configuration, tried] : attempts_) {
    const auto past = finals_.find(configuration);
    const bool failed = past != finals_.end() && past->second.failed();
    if (tried.status == Status::unverified && !failed) fastest.emplace_back(*tried.cost, configuration);
  }
  std::sort(fastest.begin(), fastest.end());
  const double contender = evaluator_.shares_processor() ? options_.contender : options_.quiet_contender;
  std::vector<Finalist> finalists;
  for (const auto& [cost, configuration] : fastest) {
    const double behind = cost / fastest.front().first;
    if ((behind <= contender && finalists.size() < options_.finalists) ||
        (behind <= options_.hopeless && spared(configuration)) || configurations_[configuration] == default_) {
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

/// Whether others that were never in the finals may be faster than `time`.
bool ProblemSearch::faster_is_waiting(double time) const {
  return std::any_of(attempts_.begin(), attempts_.end(), [&](const auto& entry) {
    const auto& [configuration, tried] = entry;
    return tried.status == Status::unverified && *tried.cost < time && !finals_.contains(configuration);
  });
}

void ProblemSearch::crown(std::vector<Finalist>& finalists, bool measured) {
  report_(Stage::verification, *this);
  provenance_.clocks = evaluator_.provenance().clocks;  // as seen under load
  for (Ranking ranking = rank(finalists); !ranking.order.empty() && !stop_.interrupted(); ranking = rank(finalists)) {
    const auto tied = ranking.order.begin() + static_cast<std::ptrdiff_t>(ranking.ties);
    const auto simplest = std::min_element(ranking.order.begin(), tied, [&](std::size_t a, std::size_t b) {
      const std::size_t first = finalists[a].configuration;
      const std::size_t second = finalists[b].configuration;
      return std::tuple(host_threads(first), distance(first, default_), first) <
             std::tuple(host_threads(second), distance(second, default_), second);
    });
    Finalist& candidate = finalists[*simplest];
    if (!measured && fewer_threads_win(candidate, finalists)) {
      candidate.yields_to_fewer_threads = true;
      continue;
    }
    const Verdict& verdict = verify(candidate.configuration);
    candidate.status = verdict.status;
    candidate.message = verdict.message;
    candidate.worst_error = verdict.worst_error;
    if (verdict.status != Status::correct) {
      record(candidate);
      reopen_pruned();
      continue;
    }
    winner_ = Winner{.finalist = candidate, .ties = {}};
    for (auto other = ranking.order.begin(); other != tied; ++other) {
      if (other != simplest) winner_->ties.push_back(configurations_[finalists[*other].configuration].text());
    }
    return;
  }
}

/// Whether the fastest of those with fewer threads is the better choice: on a machine that may be busy, more threads
/// have to gain more when it is quiet than they lose when a core is taken.
bool ProblemSearch::fewer_threads_win(const Finalist& candidate, const std::vector<Finalist>& finalists) {
  const Finalist* other = nullptr;
  for (const Finalist& finalist : finalists) {
    if (finalist.failed() || finalist.times.empty()) continue;
    if (host_threads(finalist.configuration) >= host_threads(candidate.configuration)) continue;
    if (other == nullptr || median(finalist.times) < median(other->times)) other = &finalist;
  }
  if (other == nullptr || verify(other->configuration).status != Status::correct) return false;
  const double gain = median(other->times) / median(candidate.times);
  const auto loss = contended_ratio(candidate.configuration, other->configuration);
  return loss && *loss > std::min(gain, options_.contended_loss);
}

/// The time of one configuration over that of another while a core is taken, measured in turns. Nothing if that is not
/// how the device is shared, or if one of them fails.
std::optional<double> ProblemSearch::contended_ratio(std::size_t configuration, std::size_t other) {
  const Stopwatch stopwatch(effort_.measuring, stop_);
  try {
    const auto first = evaluator_.prepare(configurations_[configuration], problem_, samples_);
    const auto second = evaluator_.prepare(configurations_[other], problem_, samples_);
    double times = 0.0, other_times = 0.0;
    for (int i = 0; i < options_.contended_repetitions && !stop_.interrupted(); ++i) {
      const auto time = first->contended_time();
      const auto other_time = time ? second->contended_time() : std::nullopt;
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

/// The configuration most like this one among those with fewer threads, and of these the one with the most.
std::optional<std::size_t> ProblemSearch::twin_with_fewer_threads(std::size_t configuration) const {
  const std::int64_t threads = host_threads(configuration);
  std::optional<std::size_t> twin;
  if (threads <= 1) return twin;
  const auto rank = [&](std::size_t other) {
    return std::pair(distance(other, configurations_[configuration]), -host_threads(other));
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

/// They may have been pruned against a configuration that turned out to be wrong. What they took at least is known.
void ProblemSearch::reopen_pruned() {
  for (auto& [configuration, tried] : attempts_) {
    if (tried.status == Status::pruned) tried.status = Status::unverified;
  }
}

/// A failure at once; what is needed to decide with the decision.
void ProblemSearch::record(const Finalist& finalist) {
  Measurement measurement = blank(configurations_[finalist.configuration]);
  measurement.status = finalist.status;
  measurement.message = finalist.message;
  measurement.worst_error = finalist.worst_error;
  measurement.visit = visit_;
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

/// Parameters that have another value.
std::size_t ProblemSearch::distance(std::size_t configuration, const Configuration& from) const {
  const auto& usual = from.entries();
  const auto& entries = configurations_[configuration].entries();
  const auto known = [&](const Configuration::Entry& entry) {
    return std::find(usual.begin(), usual.end(), entry) != usual.end();
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
  result.baseline = named_time("default", default_);
  for (const auto& [name, configuration] : named_) result.named.push_back(named_time(name, configuration));
  result.out_of_time = out_of_time_;
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
