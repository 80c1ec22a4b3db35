#include "heddle/tuner/problem_search.hpp"

#include <algorithm>
#include <utility>

#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/screening.hpp"
#include "heddle/tuner/statistics.hpp"

namespace heddle {

namespace {

constexpr std::size_t kSmallestBatch = 4;
constexpr std::size_t kLargestBatch = 256;
// Seconds to wait for a batch. Longer would let a search overrun its time, shorter waste the compiler's start.
constexpr double kGoodWait = 1.0;
// Who is this much faster than the bar is verified at once and becomes the bar; smaller steps do not pay for that.
constexpr double kNewBar = 0.95;

/// Adds the wall time of a scope to one part of an Effort.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), start_(now()) {}
  ~Stopwatch() { seconds_ += now() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  static double now() {
    static const StopCondition::Clock clock = StopCondition::steady_clock();
    return clock();
  }

 private:
  double& seconds_;
  double start_;
};

}  // namespace

ProblemSearch::ProblemSearch(Evaluator& evaluator, Journal& journal, const TunerOptions& options,
                             const Problem& problem, const std::set<std::string>& excluded, StopCondition& stop,
                             Report report)
    : evaluator_(evaluator),
      journal_(journal),
      options_(options),
      problem_(problem),
      stop_(stop),
      report_(std::move(report)),
      started_(Stopwatch::now()),
      configurations_(evaluator.family().space(evaluator.device()).enumerate(problem)),
      default_(evaluator.family().default_configuration(evaluator.device(), problem)),
      provenance_(evaluator.provenance()),
      source_hash_(evaluator.family().source(evaluator.device().backend).hash()) {
  provenance_.seed = static_cast<std::int64_t>(options.seed);
  provenance_.strategy = options.strategy;
  std::erase_if(configurations_, [&](const Configuration& c) { return excluded.contains(c.text()); });
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

void ProblemSearch::screen_first(const std::vector<Configuration>& hints) {
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

  const Batch batch = compile(std::move(first));
  auto ready = wait_for_all(*batch.compilation, [this] { return stop_.interrupted(); });
  std::sort(ready.begin(), ready.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  if (!ready.empty()) {
    const Stopwatch stopwatch(effort_.measuring);
    samples_ = choose_samples(evaluator_, configurations_[batch.configurations[ready.front().index]], problem_);
  }
  for (const Compilation::Done& done : ready) {
    if (stop_.interrupted()) return;
    attempt(batch.configurations[done.index], done, stop_, nullptr);
  }
}

void ProblemSearch::screen(Strategy& strategy, StopCondition& stop, Pace& pace) {
  for (const auto& [configuration, tried] : attempts_) strategy.observe(configuration, tried);
  const auto room = [&](std::size_t under_way) {  // never compile more than may still be tried
    const auto left = static_cast<std::size_t>(stop.evaluations_left().value_or(kLargestBatch + under_way));
    return std::min(pace.batch_size(stop.seconds_left()), left - std::min(left, under_way));
  };
  Batch batch;
  while (!stop.reached()) {
    if (!batch.compilation) batch = compile(strategy.next(room(0)));
    if (!batch.compilation) return;
    const std::size_t size = batch.configurations.size();
    Batch ahead;
    if (!evaluator_.shares_processor()) ahead = compile(strategy.next(room(size)));
    const double waited = effort_.waiting;
    if (evaluator_.shares_processor()) {
      for (const auto& done : wait_for_all(*batch.compilation, [&] { return stop.reached(); })) {
        if (stop.interrupted()) return;
        attempt(batch.configurations[done.index], done, stop, &strategy);
      }
    } else {
      while (const auto done = wait(*batch.compilation)) {
        if (stop.reached()) return;
        attempt(batch.configurations[done->index], *done, stop, &strategy);
      }
    }
    pace.waited(effort_.waiting - waited, size);
    batch = std::move(ahead);
  }
}

std::size_t ProblemSearch::Pace::batch_size(const std::optional<double>& seconds_left) const {
  const double wait = seconds_left ? std::min(kGoodWait, 0.5 * *seconds_left) : kGoodWait;
  const double affordable = wait / std::max(seconds_each_, 1e-9);
  return static_cast<std::size_t>(
      std::clamp(affordable, static_cast<double>(kSmallestBatch), static_cast<double>(largest_)));
}

void ProblemSearch::Pace::waited(double seconds, std::size_t configurations) {
  seconds_each_ = seconds / static_cast<double>(configurations);
  largest_ = std::min(kLargestBatch, 2 * std::max(configurations, kSmallestBatch));
}

ProblemSearch::Batch ProblemSearch::compile(std::vector<std::size_t> configurations) {
  if (configurations.empty()) return {};
  std::vector<Configuration> list;
  for (const std::size_t index : configurations) list.push_back(configurations_[index]);
  auto compilation = evaluator_.compile(list, problem_);
  return {.configurations = std::move(configurations), .compilation = std::move(compilation)};
}

std::optional<Compilation::Done> ProblemSearch::wait(Compilation& compilation) {
  const Stopwatch stopwatch(effort_.waiting);
  return compilation.next();
}

std::vector<Compilation::Done> ProblemSearch::wait_for_all(Compilation& compilation,
                                                           const std::function<bool()>& stop) {
  journal_.flush();  // this may take a while, and nothing measured shall be lost meanwhile
  std::vector<Compilation::Done> ready;
  while (!stop()) {
    auto done = wait(compilation);
    if (!done) break;
    ready.push_back(std::move(*done));
  }
  return ready;
}

Measurement ProblemSearch::blank(const Configuration& configuration) const {
  Measurement measurement;
  measurement.key = {
      .device = evaluator_.device(), .family = std::string(evaluator_.family().name()), .problem = problem_};
  measurement.source_hash = source_hash_;
  measurement.configuration = configuration.text();
  measurement.samples = samples_;
  measurement.provenance = provenance_;
  return measurement;
}

void ProblemSearch::record_forbidden(const Configuration& configuration) {
  const auto constraint = evaluator_.family().space(evaluator_.device()).violated(configuration, problem_);
  if (!constraint) return;  // one that took the device down before
  Measurement measurement = blank(configuration);
  measurement.status = Status::constraint;
  measurement.message = *constraint;
  journal_.add(std::move(measurement));
}

void ProblemSearch::attempt(std::size_t configuration, const Compilation::Done& done, StopCondition& stop,
                            Strategy* strategy) {
  Screened screened{.measurement = blank(configurations_[configuration]), .cost = std::nullopt};
  screened.measurement.compile_seconds = done.seconds;
  effort_.compiling += done.seconds;
  if (done.compiled) {
    ScreeningLimits limits{.repetitions = options_.screening_repetitions, .hopeless = std::nullopt};
    if (bar_ && !spared(configuration)) limits.hopeless = *bar_ * options_.hopeless;
    const Stopwatch stopwatch(effort_.measuring);
    screened = heddle::screen(evaluator_, configurations_[configuration], std::move(screened.measurement), limits);
  } else {
    screened.measurement.status = Status::compilation;
    screened.measurement.message = first_complaint(done.log);
  }
  if (screened.measurement.status == Status::unverified && (!bar_ || *screened.cost < kNewBar * *bar_)) {
    raise_bar(configuration, screened);
  }
  const Observation observation{.status = screened.measurement.status, .cost = screened.cost};
  attempts_[configuration] = observation;
  if (strategy != nullptr) strategy->observe(configuration, observation);
  stop.count_evaluation();
  journal_.add(std::move(screened.measurement));
  check_device(observation.status);
  report_(Stage::screening, *this);
}

/// Nothing unverified may prune others: what computes too little is often the fastest.
void ProblemSearch::raise_bar(std::size_t configuration, Screened& screened) {
  const Verdict& verdict = verify(configuration);
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
  const Stopwatch stopwatch(effort_.verifying);
  return verdicts_.emplace(configuration, evaluator_.verify(configurations_[configuration], problem_)).first->second;
}

bool ProblemSearch::spared(std::size_t configuration) const {
  return std::find(protected_.begin(), protected_.end(), configuration) != protected_.end();
}

void ProblemSearch::check_device(Status status) {
  if (!takes_device_down(status)) return;
  journal_.flush();
  evaluator_.check_device();
}

std::set<std::string> ProblemSearch::tried() const {
  std::set<std::string> texts;
  for (const auto& [configuration, tried] : attempts_) texts.insert(configurations_[configuration].text());
  return texts;
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
  while (!winner_ && !stop_.interrupted()) {
    std::vector<Finalist> finalists = next_finalists();
    if (finalists.empty()) return;
    journal_.flush();
    report_(Stage::finals, *this);
    {
      const Stopwatch stopwatch(effort_.measuring);
      run_finals(
          finalists,
          [this](std::size_t index) { return evaluator_.prepare(configurations_[index], problem_, samples_); },
          {.minimum_rounds = options_.minimum_repetitions,
           .maximum_rounds = options_.maximum_repetitions,
           .seed = options_.seed},
          [this](int round) {
            return stop_.interrupted() || (round >= 2 * options_.minimum_repetitions && stop_.reached());
          });
    }
    for (const Finalist& finalist : finalists) {
      if (finalist.failed()) record(finalist);
    }
    crown(finalists);
    bool surprise = false;  // somebody who was to be one of the fastest is out
    for (Finalist& finalist : finalists) {
      surprise = surprise || finalist.failed();
      if (!finalist.failed() && finalist.times.empty()) continue;  // did not get to run
      if (!finalist.failed()) record(finalist);
      finals_[finalist.configuration] = std::move(finalist);
    }
    journal_.flush();
    if (winner_ && surprise && faster_is_waiting(median(winner_->finalist.times))) winner_.reset();
  }
}

/// The fastest of the screening that have not failed since, and those that are to be compared with them anyhow.
std::vector<Finalist> ProblemSearch::next_finalists() {
  std::vector<std::pair<double, std::size_t>> fastest;
  for (const auto& [configuration, tried] : attempts_) {
    const auto past = finals_.find(configuration);
    const bool failed = past != finals_.end() && past->second.failed();
    if (tried.status == Status::unverified && !failed) fastest.emplace_back(*tried.cost, configuration);
  }
  std::sort(fastest.begin(), fastest.end());
  std::vector<Finalist> finalists;
  for (const auto& [cost, configuration] : fastest) {
    if (finalists.size() < options_.finalists || spared(configuration)) {
      finalists.emplace_back().configuration = configuration;
    }
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

void ProblemSearch::crown(std::vector<Finalist>& finalists) {
  report_(Stage::verification, *this);
  provenance_.clocks = evaluator_.provenance().clocks;  // as seen under load
  for (Ranking ranking = rank(finalists); !ranking.order.empty() && !stop_.interrupted(); ranking = rank(finalists)) {
    const auto tied = ranking.order.begin() + static_cast<std::ptrdiff_t>(ranking.ties);
    const auto simplest = std::min_element(ranking.order.begin(), tied, [&](std::size_t a, std::size_t b) {
      const std::size_t first = finalists[a].configuration;
      const std::size_t second = finalists[b].configuration;
      return std::pair(distance_from_default(first), first) < std::pair(distance_from_default(second), second);
    });
    Finalist& candidate = finalists[*simplest];
    const Verdict& verdict = verify(candidate.configuration);
    candidate.status = verdict.status;
    candidate.message = verdict.message;
    candidate.worst_error = verdict.worst_error;
    if (verdict.status != Status::correct) {
      record(candidate);
      continue;
    }
    winner_ = Winner{.finalist = candidate, .ties = {}};
    for (auto other = ranking.order.begin(); other != tied; ++other) {
      if (other != simplest) winner_->ties.push_back(configurations_[finalists[*other].configuration].text());
    }
    return;
  }
}

void ProblemSearch::record(const Finalist& finalist) {
  Measurement measurement = blank(configurations_[finalist.configuration]);
  measurement.status = finalist.status;
  measurement.message = finalist.message;
  measurement.worst_error = finalist.worst_error;
  if (!finalist.failed()) measurement.times = finalist.times;
  journal_.add(std::move(measurement));
  check_device(finalist.status);
}

std::size_t ProblemSearch::distance_from_default(std::size_t configuration) const {
  const auto& usual = default_.entries();
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
  result.samples = samples_;
  result.valid = configurations_.size();
  std::map<std::size_t, Status> fates;
  for (const auto& [configuration, tried] : attempts_) fates[configuration] = tried.status;
  for (const auto& [configuration, finalist] : finals_) fates[configuration] = finalist.status;
  for (const auto& [configuration, status] : fates) ++result.statuses[status];
  result.effort = effort_;
  result.effort.total = Stopwatch::now() - started_;
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
                             .provenance = provenance_};
  }
  return result;
}

}  // namespace heddle
