#include "heddle/runtime/train/tsk_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/sonfin/predict.hpp"
#include "heddle/kernels/tsk/train.hpp"
#include "heddle/runtime/model/rule_base.hpp"
#include "heddle/runtime/train/rule_options.hpp"
#include "heddle/runtime/train/training_session.hpp"
#include "heddle/runtime/train/tsk_learner.hpp"
#include "heddle/runtime/train/tsk_options.hpp"
#include "heddle/runtime/train/tsk_predictor.hpp"
#include "heddle/runtime/train/tsk_start.hpp"

namespace heddle {

namespace {

/// The numbers that --resume needs beside the systems.
TskModel::Adaptation adaptation(const tsk::Progress& progress) {
  TskModel::Adaptation result{.step = progress.step,
                              .grown = static_cast<double>(progress.grown),
                              .shrunk = static_cast<double>(progress.shrunk),
                              .ridges = static_cast<double>(progress.ridges)};
  std::ranges::copy(progress.recent, result.recent.begin());
  return result;
}
tsk::Progress progress_of(const TskModel::Adaptation& adaptation, const TrainingState& state) {
  tsk::Progress progress = tsk::first_progress(std::clamp(adaptation.step, 0.0, kLargestStep));
  progress.iteration = static_cast<int>(state.epochs);
  progress.best_iteration = static_cast<int>(state.best_epoch);
  progress.best_error = state.best_error;
  progress.ridges = static_cast<int>(std::clamp(adaptation.ridges, 0.0, 1e9));
  progress.grown = static_cast<int>(std::clamp(adaptation.grown, 0.0, 1e9));
  progress.shrunk = static_cast<int>(std::clamp(adaptation.shrunk, 0.0, 1e9));
  std::ranges::copy(adaptation.recent, std::begin(progress.recent));
  return progress;
}

OptionValues checked_options(const TrainingJob& job) {
  OptionValues options = training_options(job, TskModel::kName);
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

Beginning tsk_beginning(const TrainingJob& job) {
  OptionValues options = checked_options(job);
  const Dataset& data = checked_data(job);
  TskModel untaught = TskModel::untaught(data.dim, data.outputs());
  std::vector<RuleBase> systems{rule_base(untaught.system)};
  if (job.resume != nullptr) {
    const auto& resumed = std::get<TskModel>(job.resume->network);
    systems.push_back(rule_base(resumed.system));
    if (resumed.last) systems.push_back(rule_base(*resumed.last));
  }
  InputLimit limit = rule_limit(options, systems);
  return {.options = std::move(options), .network = std::move(untaught), .limit = std::move(limit)};
}

/// The sets of each input that `options` ask for; nothing if rules come from clusters.
std::vector<std::int64_t> sets_of(const OptionValues& options, std::int64_t dim) {
  std::vector<std::int64_t> sets = options.integers("sets");
  if (sets.empty() && options.integer("rules") == 0 && dim <= 4) sets = {dim <= 2 ? 5 : 2};
  if (sets.size() == 1) sets.assign(static_cast<std::size_t>(dim), sets.front());
  if (!sets.empty() && static_cast<std::int64_t>(sets.size()) != dim) {
    throw Error(ErrorKind::usage, fmt::format("--sets: found {}, expected one, or one for each of {}",
                                              counted(sets.size(), "number"), counted(dim, "input")));
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
                  fmt::format("--rules: {} with {} a consequent are {} unknowns, expected at most {}",
                              counted(rules, "rule"), counted(terms, "number"), rules * terms, tsk::kMostUnknowns));
    }
    first = clusters(x, rows.dim, rules, seed);
  }
  first.outputs = rows.outputs;
  first.order = linear ? 1 : 0;
  if (first.unknowns() > tsk::kMostUnknowns) {
    throw Error(ErrorKind::usage, fmt::format("--consequents linear: {} over {} are {} unknowns, expected at most {}",
                                              counted(first.rules(), "rule"), counted(rows.dim, "input"),
                                              first.unknowns(), tsk::kMostUnknowns));
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
  TskSession(Device& device, const Knowledge& known, const TrainingJob& job, const TrainingObserver& observer)
      : TrainingSession(device, job, observer, tsk_beginning(job)),
        rows_(all_rows(model_, parts_)),
        learnt_(learn().rows()),
        system_(first(job)),
        learner_(device, known, rows_, system_, control(), interval(), observer.notice, observer.stop) {
    begin();
    if (const std::string wrong = fault(rule_base(system_)); !wrong.empty()) {
      throw Error(ErrorKind::usage, fmt::format("{}: the system to start from has {}", learn().source, wrong));
    }
    tsk::Progress progress = tsk::first_progress(options_.number("step-size"));
    tsk::System best = system_;
    if (job.resume != nullptr) {
      best = own().system;
      progress = progress_of(own().adaptation, model_.training);
      if (job.options.is_set("step-size")) progress.step = options_.number("step-size");
    }
    announce(first_model().largest_bytes(system_.rules()));
    show_beginning(first_model());
    learner_.begin(system_, own().antecedents, best, progress);
    if (scoring()) {
      predictor_ = std::make_unique<TskPredictor>(device, known, first_model(), observer.notice, observer.stop);
    }
    if (system_.unknowns() > learnt_) {
      notice(fmt::format("{} with {}, more than the {} learnt, which do not determine them: a small ridge is added",
                         counted(system_.rules(), "rule"), counted(system_.unknowns(), "unknown"),
                         counted(learnt_, "row")));
    }
  }

  static std::unique_ptr<Predictor> predictor(Device& device, const Knowledge& known, const TskModel& network,
                                              const Notice& notice) {
    return std::make_unique<TskPredictor>(device, known, network, notice);
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
    if (own().system.rules() == 0) {
      throw Error(ErrorKind::usage,
                  "the first least squares have no finite solution: a larger --ridge or fewer rules may help");
    }
    if (const int ridges = learner_.progress().ridges; ridges > 0) {
      notice(
          fmt::format("in {} of {} the activations did not determine all consequents (rules that no "
                      "row fires, inputs that say the same): a small ridge was added; use fewer rules or --ridge "
                      "to determine them",
                      ridges, counted(state.epochs, "epoch")));
    }
    std::string message = line_about(ending);
    if (ending == Ending::stopped) message = where_it_stands();
    if (ending == Ending::diverged) {
      message = fmt::format(
          "training diverged in epoch {}: a smaller --step-size (now {}) or --rate (now {}) or a larger --ridge may "
          "help",
          state.epochs + 1, options_.word("step-size"), options_.word("rate"));
      forget_last();  // what went wrong is no place to go on from
    }
    return ended(std::move(model_), std::move(reports_), ending, std::move(message));
  }

 private:
  [[nodiscard]] TskModel& own() { return std::get<TskModel>(model_.network); }
  /// A model of the system that training starts from.
  [[nodiscard]] TskModel first_model() const {
    TskModel model;
    model.system = system_;
    return model;
  }
  void forget_last() {
    own().last.reset();
    own().antecedents.clear();
  }

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
    const auto& resumed = std::get<TskModel>(job.resume->network);
    return resumed.last.value_or(resumed.system);
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
      if (own().system.rules() == 0) return ending;
      if (ending != Ending::diverged) {
        keep([this] { return ended(model_, reports_, Ending::stopped, where_it_stands()); });
      }
      if (observer_.progress) {
        observer_.progress({.epoch = state.epochs,
                            .last_epoch = options_.integer("epochs"),
                            .position = learnt_,
                            .samples = learnt_,
                            .size = size_of(system_.rules()).text});
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
    record.counts = size_of(system_.rules()).counts;
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
    report.size = size_of(system_.rules());
    report.samples = learnt_ * (state.epochs - before);
    report.train_error = state.history.back().train_error;
    report.microseconds_per_sample = 1e6 * seconds / static_cast<double>(report.samples);
    const Candidate& candidate = learner_.candidate();
    report.mappings.push_back({.capacity = system_.rules(),
                               .problem = learner_.problem().text(),
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
    forget_last();
    if (progress.best_iteration == 0 || !std::isfinite(progress.best_error)) return false;
    tsk::System best = learner_.best();
    if (!fault(rule_base(best)).empty()) return false;
    own().system = std::move(best);
    state.best_epoch = progress.best_iteration;
    state.best_error = progress.best_error;
    state.epochs_without_improvement = state.epochs - state.best_epoch;

    tsk::System last = learner_.system();
    const TskModel::Adaptation adapted = adaptation(progress);
    const auto finite = [](double number) { return std::isfinite(number); };
    if (!fault(rule_base(last)).empty() || !finite(adapted.step) || !std::ranges::all_of(adapted.recent, finite)) {
      return false;
    }
    own().adaptation = adapted;
    own().last = std::move(last);
    own().antecedents = learner_.antecedents();
    return true;
  }

  [[nodiscard]] std::string where_it_stands() const {
    return "stopped after " + counted(model_.training.epochs, "epoch");
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
  TskLearner learner_;
};

}  // namespace

const Trainer& tsk_trainer() {
  static const SessionTrainer<TskModel, TskSession> trainer(
      "Takagi-Sugeno-Kang system, all rows at once by least squares and gradient: few rules to be read, best of few "
      "inputs",
      tsk_options(), {&tsk::constant_family(), &tsk::linear_family(), &sonfin::predict_family()});
  return trainer;
}

}  // namespace heddle
