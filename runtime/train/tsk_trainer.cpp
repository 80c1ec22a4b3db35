#include "heddle/runtime/train/tsk_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "heddle/kernels/tsk/train.hpp"
#include "heddle/runtime/train/training_session.hpp"
#include "heddle/runtime/train/tsk_learner.hpp"
#include "heddle/runtime/train/tsk_options.hpp"
#include "heddle/runtime/train/tsk_start.hpp"

namespace heddle {

namespace {

/// Models have the widths of exp(-((x - m) / sigma)^2), without the factor 1/2.
sonfin::Network network(const tsk::System& system) {
  sonfin::Network result{.dim = system.dim,
                         .outputs = system.outputs,
                         .centres = system.centres,
                         .widths = system.widths,
                         .consequents = system.consequents,
                         .order = system.order};
  for (float& width : result.widths) width *= std::numbers::sqrt2_v<float>;
  return result;
}
tsk::System system(const sonfin::Network& of) {
  tsk::System result{.dim = of.dim,
                     .outputs = of.outputs,
                     .order = of.order,
                     .centres = of.centres,
                     .widths = of.widths,
                     .consequents = of.consequents};
  for (float& width : result.widths) width /= std::numbers::sqrt2_v<float>;
  return result;
}

/// The numbers that --resume needs beside the systems.
std::map<std::string, double> numbers(const tsk::Progress& progress) {
  std::map<std::string, double> all{
      {"step", progress.step}, {"grown", progress.grown}, {"shrunk", progress.shrunk}, {"ridges", progress.ridges}};
  for (int i = 0; i < tsk::kRecent; ++i) all[fmt::format("recent {}", i)] = progress.recent[i];
  return all;
}
tsk::Progress progress_of(const TrainingState& state) {
  const auto number = [&](const std::string& name) {
    const auto found = state.numbers.find(name);
    return found == state.numbers.end() ? 0.0 : found->second;
  };
  tsk::Progress progress = tsk::first_progress(std::clamp(number("step"), 0.0, kLargestStep));
  progress.iteration = static_cast<int>(state.epochs);
  progress.best_iteration = static_cast<int>(state.best_epoch);
  progress.best_error = state.best_error;
  progress.ridges = static_cast<int>(std::clamp(number("ridges"), 0.0, 1e9));
  progress.grown = static_cast<int>(std::clamp(number("grown"), 0.0, 1e9));
  progress.shrunk = static_cast<int>(std::clamp(number("shrunk"), 0.0, 1e9));
  for (int i = 0; i < tsk::kRecent; ++i) progress.recent[i] = number(fmt::format("recent {}", i));
  return progress;
}

OptionValues checked_options(const TrainingJob& job) {
  OptionValues options = training_options(job, "tsk");
  if (job.resume != nullptr) {
    for (const char* fixed : {"sets", "rules", "consequents"}) {
      const auto taught = job.resume->training.options.find(fixed);
      if (taught != job.resume->training.options.end() && options.word(fixed) != taught->second) {
        throw Error(ErrorKind::usage, fmt::format("--{}: found {}, expected {} as in the model", fixed,
                                                  options.word(fixed), taught->second));
      }
    }
  } else if (!options.integers("sets").empty() && options.integer("rules") > 0) {
    throw Error(ErrorKind::usage, "--rules: found it with --sets, expected one of them");
  }
  return options;
}

/// The sets of each input that `options` ask for; nothing if rules come from clusters.
std::vector<std::int64_t> sets_of(const OptionValues& options, std::int64_t dim) {
  std::vector<std::int64_t> sets = options.integers("sets");
  if (sets.empty() && options.integer("rules") == 0 && dim <= 4) sets = {dim <= 2 ? 5 : 2};
  if (sets.size() == 1) sets.assign(static_cast<std::size_t>(dim), sets.front());
  if (!sets.empty() && static_cast<std::int64_t>(sets.size()) != dim) {
    throw Error(
        ErrorKind::usage,
        fmt::format("--sets: found {} numbers, expected one, or one for each of the {} inputs", sets.size(), dim));
  }
  return sets;
}

tsk::System first_system(const OptionValues& options, const LearningRows& rows, std::int64_t learnt,
                         std::uint64_t seed) {
  const std::span<const float> x(rows.rows.data(), static_cast<std::size_t>(learnt * rows.dim));
  const std::vector<std::int64_t> sets = sets_of(options, rows.dim);
  const bool linear = options.word("consequents") == "linear";
  const std::int64_t terms = linear ? rows.dim + 1 : 1;
  const std::int64_t most = std::max<std::int64_t>(tsk::kMostUnknowns / terms, 1);
  const std::int64_t rules = options.integer("rules") > 0 ? options.integer("rules") : 16;
  tsk::System first;
  if (!sets.empty()) {
    first = grid_of_sets(x, sets, most);
  } else {
    if (rules > most) {
      throw Error(ErrorKind::usage,
                  fmt::format("--rules: {} rules with {} numbers a consequent are {} unknowns, expected "
                              "at most {}",
                              rules, terms, rules * terms, tsk::kMostUnknowns));
    }
    first = clusters(x, rows.dim, rules, seed);
  }
  first.outputs = rows.outputs;
  first.order = linear ? 1 : 0;
  if (first.unknowns() > tsk::kMostUnknowns) {
    throw Error(ErrorKind::usage,
                fmt::format("--consequents linear: {} rules over {} inputs are {} unknowns, expected at "
                            "most {}",
                            first.rules(), rows.dim, first.unknowns(), tsk::kMostUnknowns));
  }
  const auto least = static_cast<float>(options.number("minimum-width"));
  for (float& width : first.widths) width = std::max(width, least);
  first.consequents.assign(static_cast<std::size_t>(first.unknowns() * first.outputs), 0.0F);
  return first;
}

/// The rows learnt, then those held back.
LearningRows all_rows(const Model& model, const DataParts& parts) {
  LearningRows rows = learning_rows(model, parts.learn());
  if (parts.validation.rows() > 0) {
    const LearningRows held_back = learning_rows(model, parts.validation);
    rows.rows.insert(rows.rows.end(), held_back.rows.begin(), held_back.rows.end());
    rows.targets.insert(rows.targets.end(), held_back.targets.begin(), held_back.targets.end());
  }
  return rows;
}

/// The model it works on has the best system so far; the one of the moment is on the device.
class TskSession final : public TrainingSession {
 public:
  TskSession(Device& device, const std::vector<Profile>& profiles, const TrainingJob& job,
             const TrainingObserver& observer)
      : TrainingSession(device, job, observer, checked_options(job), "tsk"),
        rows_(all_rows(model_, parts_)),
        learnt_(learn().rows()),
        system_(first(job)),
        learner_(device, profiles, rows_, system_, control(), interval(), observer.notice, observer.stop) {
    begin();
    if (const std::string wrong = fault(network(system_)); !wrong.empty()) {
      throw Error(ErrorKind::usage, fmt::format("{}: the system to start from has {}", learn().source, wrong));
    }
    tsk::Progress progress = tsk::first_progress(options_.number("step-size"));
    tsk::System best = system_;
    if (job.resume != nullptr) {
      best = system(job.resume->network);
      progress = progress_of(model_.training);
      if (job.options.is_set("step-size")) progress.step = options_.number("step-size");
    }
    begun_ = progress.iteration;
    announce(system_.rules());
    learner_.begin(system_, model_.training.antecedents, best, progress);
    open_predictor(profiles, network(system_).numbers(), system_.rules());
    if (system_.unknowns() > learnt_) {
      notice(
          fmt::format("{} rules have {} unknowns, more than the {} rows learnt, which do not determine them: a small "
                      "ridge is added",
                      system_.rules(), system_.unknowns(), learnt_));
    }
  }

  std::optional<Ending> advance() override {
    const std::int64_t epochs = options_.integer("epochs");
    Ending ending = Ending::completed;
    if (model_.training.epochs < epochs) ending = some(std::min(epochs, model_.training.epochs + interval()));
    if (ending == Ending::completed && model_.training.epochs < epochs) return std::nullopt;
    return ending;
  }

  TrainingResult finish(Ending ending) override {
    const TrainingState& state = model_.training;
    if (model_.network.rules() == 0) {
      throw Error(ErrorKind::usage,
                  "the first least squares have no finite solution: a larger --ridge or fewer rules may help");
    }
    if (const int ridges = learner_.progress().ridges; ridges > 0) {
      notice(
          fmt::format("in {} of {} epochs the activations did not determine all consequents (rules that no "
                      "row fires, inputs that say the same): a small ridge was added; use fewer rules or --ridge "
                      "to determine them",
                      ridges, state.epochs));
    }
    std::string message = line_about(ending);
    if (ending == Ending::stopped) message = where_it_stands();
    if (ending == Ending::diverged) {
      message = fmt::format(
          "training diverged in epoch {}: a smaller --step-size (now {}) or --rate (now {}) or a larger --ridge may "
          "help",
          state.epochs + 1, options_.word("step-size"), options_.word("rate"));
      model_.training.last.reset();  // what went wrong is no place to go on from
      model_.training.antecedents.clear();
    }
    return ended(std::move(model_), std::move(reports_), ending, std::move(message));
  }

 private:
  [[nodiscard]] std::int64_t interval() const {
    const std::int64_t asked = options_.integer("report");
    return asked > 0 ? asked : std::max<std::int64_t>(1, options_.integer("epochs") / 10);
  }
  [[nodiscard]] tsk::Control control() const {
    tsk::Control control = tsk_control(options_);
    control.all = {.rules = static_cast<int>(system_.rules()), .rows = static_cast<int>(rows_.count())};
    control.rows = static_cast<int>(learnt_);
    control.held_back = static_cast<int>(parts_.validation.rows());
    return control;
  }
  [[nodiscard]] tsk::System first(const TrainingJob& job) const {
    if (job.resume == nullptr) return first_system(options_, rows_, learnt_, seed_);
    const TrainingState& state = job.resume->training;
    return system(state.last ? *state.last : job.resume->network);
  }

  /// Epochs up to `end`, and a report. Says how training ends if it ends here.
  Ending some(std::int64_t end) {
    const auto start = Clock::now();
    TrainingState& state = model_.training;
    const std::int64_t before = state.epochs;
    Ending ending = Ending::completed;
    double seconds = 0.0;
    while (state.epochs < end && ending == Ending::completed) {
      const auto run = Clock::now();
      const std::vector<TskLearner::Errors> errors = learner_.advance(end);
      const double taken = std::chrono::duration<double>(Clock::now() - run).count();
      seconds += taken;
      for (const TskLearner::Errors& error : errors) record(error, taken / static_cast<double>(errors.size()));
      ending = take_over() ? halted() : Ending::diverged;
      if (model_.network.rules() == 0) return ending;
      if (ending != Ending::diverged) {
        keep([this] { return ended(model_, reports_, Ending::stopped, where_it_stands()); });
      }
      if (observer_.progress) {
        observer_.progress({.epoch = state.epochs,
                            .last_epoch = options_.integer("epochs"),
                            .position = learnt_,
                            .samples = learnt_,
                            .rules = system_.rules()});
      }
      if (ending == Ending::completed && state.epochs < options_.integer("epochs") && stop()) ending = Ending::stopped;
    }
    if (state.epochs > before) report(before, seconds, start);
    return ending;
  }

  [[nodiscard]] Ending halted() const {
    switch (learner_.progress().halted) {
      case tsk::kTargetReached:
        return Ending::target_reached;
      case tsk::kNoImprovement:
        return Ending::no_improvement;
      case tsk::kDiverged:
        return Ending::diverged;
      default:
        return Ending::completed;
    }
  }

  void record(const TskLearner::Errors& error, double seconds) {
    EpochRecord record;
    record.epoch = ++model_.training.epochs;
    record.rules = system_.rules();
    record.samples = learnt_;
    record.train_error = 0.5 * error.learnt;
    if (validating() && std::isfinite(error.held_back)) record.validation_error = 0.5 * error.held_back;
    record.microseconds_per_sample = 1e6 * seconds / static_cast<double>(learnt_);
    model_.training.history.push_back(record);
  }

  /// Scores are those of the best system so far.
  void report(std::int64_t before, double seconds, Clock::time_point start) {
    TrainingState& state = model_.training;
    EpochReport report;
    report.epoch = state.epochs;
    report.rules = system_.rules();
    report.samples = learnt_ * (state.epochs - before);
    report.train_error = state.history.back().train_error;
    report.microseconds_per_sample = 1e6 * seconds / static_cast<double>(report.samples);
    const Candidate& candidate = learner_.candidate();
    report.mappings.push_back({.capacity = system_.rules(),
                               .configuration = candidate.configuration.text(),
                               .tier = candidate.tier,
                               .samples = report.samples,
                               .microseconds_per_sample = report.microseconds_per_sample,
                               .promised = candidate.promised});
    tell(std::move(report), start, candidate);
  }

  /// Brings the best system and the one to go on from into the model. False if one of them is not usable; the model
  /// then has the last good one of the first kind and none of the second.
  [[nodiscard]] bool take_over() {
    const tsk::Progress& progress = learner_.progress();
    TrainingState& state = model_.training;
    state.last.reset();
    state.antecedents.clear();
    if (progress.best_iteration == 0 || !std::isfinite(progress.best_error)) return false;
    // One that this run has not bettered stays as it is: widths in a model are others, and rounded.
    if (progress.best_iteration > begun_) {
      sonfin::Network best = network(learner_.best());
      if (!fault(best).empty()) return false;
      model_.network = std::move(best);
    }
    state.best_epoch = progress.best_iteration;
    state.best_error = progress.best_error;
    state.epochs_without_improvement = state.epochs - state.best_epoch;

    sonfin::Network last = network(learner_.system());
    std::map<std::string, double> others = numbers(progress);
    const auto finite = [](const auto& entry) { return std::isfinite(entry.second); };
    if (!fault(last).empty() || !std::ranges::all_of(others, finite)) return false;
    state.numbers = std::move(others);
    state.last = std::move(last);
    state.antecedents = learner_.antecedents();
    return true;
  }

  [[nodiscard]] std::string where_it_stands() const {
    return fmt::format("stopped after {} epochs", model_.training.epochs);
  }

  [[nodiscard]] static TrainingResult ended(Model model, std::vector<EpochReport> reports, Ending ending,
                                            std::string message) {
    const std::optional<Score> test = reports.empty() ? std::nullopt : reports.back().test;
    return {.model = std::move(model),
            .epochs = std::move(reports),
            .test = test,
            .ending = ending,
            .message = std::move(message)};
  }

  LearningRows rows_;
  std::int64_t learnt_;
  tsk::System system_;  // at the start
  int begun_ = 0;       // iterations done before
  TskLearner learner_;
};

}  // namespace

const Trainer& tsk_trainer() {
  static const SessionTrainer<TskSession> trainer("tsk",
                                                  "Takagi-Sugeno-Kang system, all rows at once by least squares and "
                                                  "gradient: few rules to be read, best of few inputs",
                                                  tsk_options());
  return trainer;
}

}  // namespace heddle
