#include "heddle/runtime/train/tsk_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <utility>

#include "heddle/kernels/tsk/train.hpp"
#include "heddle/runtime/train/training_data.hpp"
#include "heddle/runtime/train/tsk_learner.hpp"
#include "heddle/runtime/train/tsk_options.hpp"
#include "heddle/runtime/train/tsk_start.hpp"

namespace heddle {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMostUnknowns = 8192;

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

/// What --resume needs beside the systems.
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
  tsk::Progress progress = tsk::first_progress(number("step"));
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
  const bool own = job.resume != nullptr && job.resume->training.trainer == "tsk";
  OptionValues options = own ? with_options_of(*job.resume, job.options) : job.options;
  check_options(job, options, "tsk");
  if (own) {
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
  const std::int64_t most = std::max<std::int64_t>(kMostUnknowns / terms, 1);
  const std::int64_t rules = options.integer("rules") > 0 ? options.integer("rules") : 16;
  tsk::System first;
  if (!sets.empty()) {
    first = grid_of_sets(x, sets, most);
  } else {
    if (rules > most) {
      throw Error(ErrorKind::usage,
                  fmt::format("--rules: {} rules with {} numbers a consequent are {} unknowns, expected "
                              "at most {}",
                              rules, terms, rules * terms, kMostUnknowns));
    }
    first = clusters(x, rows.dim, rules, seed);
  }
  first.outputs = rows.outputs;
  first.order = linear ? 1 : 0;
  if (first.unknowns() > kMostUnknowns) {
    throw Error(ErrorKind::usage,
                fmt::format("--consequents linear: {} rules over {} inputs are {} unknowns, expected at "
                            "most {}",
                            first.rules(), rows.dim, first.unknowns(), kMostUnknowns));
  }
  const auto least = static_cast<float>(options.number("minimum-width"));
  for (float& width : first.widths) width = std::max(width, least);
  first.consequents.assign(static_cast<std::size_t>(first.unknowns() * first.outputs), 0.0F);
  return first;
}

/// The rows learnt, then those held back.
LearningRows learning_rows(const Model& model, const DataParts& parts) {
  LearningRows rows{.dim = parts.learn().dim,
                    .outputs = parts.learn().outputs(),
                    .rows = model.inputs.apply(parts.learn().inputs),
                    .targets = network_targets(model, parts.learn())};
  if (parts.validation.rows() > 0) {
    const std::vector<float> inputs = model.inputs.apply(parts.validation.inputs);
    const std::vector<float> targets = network_targets(model, parts.validation);
    rows.rows.insert(rows.rows.end(), inputs.begin(), inputs.end());
    rows.targets.insert(rows.targets.end(), targets.begin(), targets.end());
  }
  return rows;
}

/// One call of train().
class Session {
 public:
  Session(Device& device, const std::vector<Profile>& profiles, const TrainingJob& job,
          const TrainingObserver& observer)
      : observer_(observer),
        test_(job.test),
        options_(checked_options(job)),
        seed_(static_cast<std::uint64_t>(options_.integer("seed"))),
        parts_(part_data(checked_data(job), options_.number("validation"), seed_)),
        model_(job.resume != nullptr ? *job.resume : model_for(parts_.learn(), options_, "tsk")),
        rows_(learning_rows(model_, parts_)),
        learnt_(parts_.learn().rows()),
        system_(first(job)),
        learner_(device, profiles, rows_, system_, control(), interval(), observer.notice) {
    if (test_ != nullptr || validating()) {
      predictor_.emplace(device, profiles, rows_.dim, network(system_).numbers(), system_.rules(), observer.notice);
    }
    tsk::Progress progress = tsk::first_progress(options_.number("step-size"));
    tsk::System best = system_;
    TrainingState& state = model_.training;
    if (job.resume != nullptr) {
      best = system(job.resume->network);
      // Errors on other rows say nothing about the best system so far.
      const auto split = state.options.find("validation");
      const bool same = split != state.options.end() && split->second == options_.word("validation") &&
                        (state.seed == seed_ || !validating());
      if (!same) state.best_epoch = 0;
      progress = progress_of(state);
      if (job.options.is_set("step-size")) progress.step = options_.number("step-size");
    }
    sign(model_, options_, device, parts_.learn());
    learner_.begin(system_, best, progress);
    if (observer.notice && system_.unknowns() > learnt_) {
      observer.notice(fmt::format("{} rules have {} unknowns, more than the {} rows learnt: a ridge makes up for it",
                                  system_.rules(), system_.unknowns(), learnt_));
    }
  }

  TrainingResult run() {
    const std::int64_t epochs = options_.integer("epochs");
    Ending ending = Ending::completed;
    while (model_.training.epochs < epochs && ending == Ending::completed) {
      ending = some(std::min(epochs, model_.training.epochs + interval()));
    }
    return finish(ending);
  }

 private:
  [[nodiscard]] bool validating() const { return parts_.validation.rows() > 0; }
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
      ending = halted();
      if (observer_.progress) {
        observer_.progress({.epoch = state.epochs,
                            .last_epoch = options_.integer("epochs"),
                            .position = learnt_,
                            .samples = learnt_,
                            .rules = system_.rules()});
      }
      if (ending == Ending::completed && state.epochs < options_.integer("epochs") && observer_.stop &&
          observer_.stop()) {
        ending = Ending::stopped;
      }
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
    if (validating()) record.validation_error = 0.5 * error.held_back;
    record.microseconds_per_sample = 1e6 * seconds / static_cast<double>(learnt_);
    model_.training.history.push_back(record);
  }

  /// Scores are those of the best system so far.
  void report(std::int64_t before, double seconds, Clock::time_point start) {
    TrainingState& state = model_.training;
    model_.network = network(learner_.best());
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
                               .samples = report.samples});
    if (validating()) {
      report.validation = score(model_, parts_.validation, predict(*predictor_, model_, parts_.validation));
      state.history.back().validation_value = report.validation->value;
    }
    if (test_ != nullptr) {
      report.test = score(model_, *test_, predict(*predictor_, model_, *test_));
      state.history.back().test_error = report.test->error;
      state.history.back().test_value = report.test->value;
    }
    report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    reports_.push_back(report);
    if (observer_.epoch) observer_.epoch(report);
  }

  TrainingResult finish(Ending ending) {
    const tsk::Progress& progress = learner_.progress();
    TrainingState& state = model_.training;
    TrainingResult result{.model = {}, .epochs = std::move(reports_), .test = {}, .ending = ending, .message = {}};
    if (!result.epochs.empty()) result.test = result.epochs.back().test;
    if (progress.best_iteration == 0) {
      throw Error(ErrorKind::usage,
                  "the first least squares have no finite solution: a larger --ridge or fewer rules may help");
    }
    state.best_epoch = progress.best_iteration;
    state.best_error = progress.best_error;
    state.epochs_without_improvement = state.epochs - state.best_epoch;
    state.numbers = numbers(progress);
    state.last = network(learner_.system());
    switch (ending) {
      case Ending::completed:
        break;
      case Ending::target_reached:
        result.message = fmt::format("the train error {:.6g} reached the target after {} epochs",
                                     state.history.back().train_error, state.epochs);
        break;
      case Ending::no_improvement:
        result.message = fmt::format("no better validation error for {} epochs: the model is that of epoch {}",
                                     state.epochs_without_improvement, state.best_epoch);
        break;
      case Ending::stopped:
        result.message = fmt::format("stopped after {} epochs", state.epochs);
        break;
      case Ending::diverged:
        result.message = fmt::format(
            "training diverged in epoch {}: a smaller --step-size (now {}) or --rate (now {}) or a "
            "larger --ridge may help",
            state.epochs + 1, options_.word("step-size"), options_.word("rate"));
        // What went wrong is no place to go on from.
        state.last.reset();
        break;
    }
    if (observer_.notice && progress.ridges > 0) {
      observer_.notice(
          fmt::format("in {} of {} epochs the activations did not determine all consequents (rules that no "
                      "row fires, inputs that say the same): a small ridge was added; fewer rules, or --ridge, "
                      "settle it",
                      progress.ridges, state.epochs));
    }
    result.model = std::move(model_);
    return result;
  }

  const TrainingObserver& observer_;
  const Dataset* test_;
  OptionValues options_;
  std::uint64_t seed_;
  DataParts parts_;
  Model model_;
  LearningRows rows_;
  std::int64_t learnt_;
  tsk::System system_;  // at the start
  TskLearner learner_;
  std::optional<Predictor> predictor_;
  std::vector<EpochReport> reports_;
};

class TskTrainer final : public Trainer {
 public:
  std::string_view name() const override { return "tsk"; }
  std::string_view meaning() const override {
    return "Takagi-Sugeno-Kang system, all rows at once by least squares and gradient";
  }
  const std::vector<Option>& options() const override { return tsk_options(); }
  TrainingResult train(Device& device, const std::vector<Profile>& profiles, const TrainingJob& job,
                       const TrainingObserver& observer) const override {
    return Session(device, profiles, job, observer).run();
  }
};

}  // namespace

const Trainer& tsk_trainer() {
  static const TskTrainer trainer;
  return trainer;
}

}  // namespace heddle
