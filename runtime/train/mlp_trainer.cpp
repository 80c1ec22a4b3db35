#include "heddle/runtime/train/mlp_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/mlp/predict.hpp"
#include "heddle/kernels/mlp/rules.hpp"
#include "heddle/kernels/mlp/train.hpp"
#include "heddle/runtime/train/mlp_checkpoints.hpp"
#include "heddle/runtime/train/mlp_learner.hpp"
#include "heddle/runtime/train/mlp_options.hpp"
#include "heddle/runtime/train/mlp_predictor.hpp"
#include "heddle/runtime/train/mlp_weights.hpp"
#include "heddle/runtime/train/training_session.hpp"

namespace heddle {

namespace {

/// Larger inputs would make squares of gradients infinite in float32.
constexpr double kLargestScaledInput = 1e9;

/// An error so many times that of the start, and that of answering with the mean, is of a training that has diverged,
/// even if all numbers are finite: whoever learns nothing at all does better. Outputs of a sigmoid or softmax that are
/// stuck at one of several classes have twice the error of their mean.
constexpr double kDivergedError = 1.5;

OptionValues options_of_mlp(const TrainingJob& job, Task task) {
  OptionValues options = training_options(job, MlpModel::kName);
  resolve_mlp_options(options, job.options, task, !job.train->target_ranges.empty());
  if (job.resume == nullptr) return options;
  for (const char* fixed : {"layers", "hidden", "output", "target-scale", "rule", "robust"}) {
    const auto taught = job.resume->training.options.find(fixed);
    if (taught != job.resume->training.options.end() && options.word(fixed) != taught->second) {
      throw Error(ErrorKind::usage, fmt::format("--{}: found {}, expected {} as in the model", fixed,
                                                options.word(fixed), taught->second));
    }
  }
  return options;
}

Beginning mlp_beginning(const TrainingJob& job) {
  const Dataset& data = checked_data(job);
  OptionValues options = options_of_mlp(job, data.task);
  MlpModel network;
  network.layers = mlp_layers(options, data.dim, data.outputs());
  network.hidden = activation_of(options.word("hidden")).value_or(mlp::kRelu);
  network.output = activation_of(options.word("output")).value_or(mlp::kLinear);
  if (job.resume != nullptr && !mlp::same(network.layers, std::get<MlpModel>(job.resume->network).layers)) {
    throw Error(ErrorKind::input,
                fmt::format("the model to go on from has the layers {}, expected {} as its options say",
                            job.resume->size().text, mlp::text(network.layers)));
  }
  if (job.weights != nullptr) {
    network.parameters = read_weights(job.weights->text, job.weights->source, network.layers);
  }
  const Scale targets = parse_scale(options.word("target-scale"));
  return {.options = std::move(options),
          .network = std::move(network),
          .limit = {.largest = kLargestScaledInput, .setting = {}, .held = "weighted sums of them"},
          .target_scale = targets};
}

/// Throws Error(input) where an output cannot reach a target.
void check_targets(const LearningRows& rows, const OptionValues& options, const Dataset& data) {
  if (options.word("output") != "sigmoid") return;
  const auto beyond = std::ranges::find_if(rows.targets, [](float target) { return target < 0.0F || target > 1.0F; });
  if (beyond == rows.targets.end()) return;
  throw Error(
      ErrorKind::input,
      fmt::format("{}: found the target {} in row {}, expected a number from 0 to 1, which --output sigmoid can "
                  "reach with --target-scale {}",
                  data.source, *beyond, data.row_number(at((beyond - rows.targets.begin()) / rows.outputs)),
                  options.word("target-scale")));
}

/// The error of the best answer that is the same for all rows: the mean of their targets.
double error_of_mean(const LearningRows& rows) {
  const auto outputs = static_cast<std::size_t>(rows.outputs);
  std::vector<double> sums(outputs, 0.0), squares(outputs, 0.0);
  for (std::size_t i = 0; i < rows.targets.size(); ++i) {
    const auto target = static_cast<double>(rows.targets[i]);
    sums[i % outputs] += target;
    squares[i % outputs] += target * target;
  }
  const auto count = static_cast<double>(rows.count());
  double error = 0.0;
  for (std::size_t k = 0; k < outputs; ++k) error += 0.5 * (squares[k] - sums[k] * sums[k] / count) / count;
  return error;
}

/// The model it works on has the weights of the moment; the best ones are kept beside them.
class MlpSession final : public TrainingSession {
 public:
  MlpSession(Device& device, const Knowledge& known, const TrainingJob& job, const TrainingObserver& observer)
      : TrainingSession(device, job, observer, mlp_beginning(job)),
        known_(known),
        rows_(learning_rows(model_, learn())),
        largest_input_(largest_input()),
        learner_(device, known, rows_, own().layers, mlp_control(options_, rows_.count(), rows_.outputs),
                 own().last ? &*own().last : nullptr, seed_, interval() * rows_.count(), observer.notice,
                 observer.stop) {
    check_targets(rows_, options_, learn());
    if (scoring()) {
      predictor_ = std::make_unique<MlpPredictor>(device, known, own(), observer.notice, observer.stop);
    }
    begin();
    if (model_.training.best_epoch > 0) best_ = own().parameters;
    MlpModel::Learning first = first_learning();
    check_start(first.parameters, job);
    learner_.begin(first);
    checkpoints_.emplace(std::move(first));
    announce(own().largest_bytes());
    show_beginning(own());
  }

  static std::unique_ptr<Predictor> predictor(Device& device, const Knowledge& known, const MlpModel& network,
                                              const Notice& notice) {
    return std::make_unique<MlpPredictor>(device, known, network, notice);
  }

  std::optional<Ending> advance() override {
    const std::int64_t epochs = options_.integer("epochs");
    TrainingState& state = model_.training;
    std::optional<Ending> ending;
    if (state.epochs < epochs) ending = some(std::min(epochs, state.epochs + interval()));
    if (!ending && state.epochs >= epochs) ending = Ending::completed;
    if ((ending == Ending::completed || ending == Ending::no_improvement) && rose()) return Ending::diverged;
    if (!ending && stop()) ending = Ending::stopped;
    return ending;
  }

  TrainingResult finish(Ending ending) override {
    if (ending == Ending::diverged) return diverged();
    std::string message =
        ending == Ending::stopped ? where_it_stands(model_.training, rows_.count()) : line_about(ending);
    return ended(std::move(model_), std::move(reports_), ending, std::move(message));
  }

 private:
  [[nodiscard]] MlpModel& own() { return std::get<MlpModel>(model_.network); }

  [[nodiscard]] const MlpModel& own() const { return std::get<MlpModel>(model_.network); }

  /// Why float32 cannot compute with these weights for the rows of this session; empty if it can.
  [[nodiscard]] std::string fault_of(std::vector<float> parameters) const {
    const MlpModel network{.layers = own().layers,
                           .hidden = own().hidden,
                           .output = own().output,
                           .parameters = std::move(parameters),
                           .last = {}};
    return fault_of_weights(network, largest_input_);
  }

  /// Throws an Error that names where the weights to begin with come from, unless float32 can compute with them.
  void check_start(const std::vector<float>& parameters, const TrainingJob& job) const {
    const std::string fault = fault_of(parameters);
    if (fault.empty()) return;
    if (job.weights != nullptr) throw Error(ErrorKind::input, fmt::format("{}: found {}", job.weights->source, fault));
    if (job.resume != nullptr) {
      throw Error(ErrorKind::input, fmt::format("{}: found {} in the model to go on from", learn().source, fault));
    }
    throw Error(ErrorKind::usage,
                fmt::format("--initial-weights {}: found {}", options_.word("initial-weights"), fault));
  }

  [[nodiscard]] std::int64_t interval() const {
    const std::int64_t asked = options_.integer("report");
    if (asked > 0) return asked;
    return validating() ? 1 : std::max<std::int64_t>(1, options_.integer("epochs") / 10);
  }

  /// What training begins with, or goes on from.
  [[nodiscard]] MlpModel::Learning first_learning() {
    const mlp::Rule rule = rule_of(options_);
    MlpModel::Learning learning;
    if (own().last) {
      learning = *std::exchange(own().last, std::nullopt);
      own().parameters = learning.parameters;
    } else {
      learning.parameters = own().parameters.empty() ? first_weights(options_, own().layers) : own().parameters;
      learning.progress = mlp::first_progress();
      learning.progress.epoch = static_cast<int>(model_.training.epochs);
    }
    if (other_rows()) {
      learning.progress.position = 0;
      learning.progress.squares = 0.0;
    }
    const int arrays = mlp::state_arrays(rule, options_.flag("robust"));
    if (learning.state.size() != learning.parameters.size() * static_cast<std::size_t>(arrays)) learning.state.clear();
    if (learning.state.empty()) {
      learning.state = mlp::first_state(rule, own().layers.parameters(), options_.number("first-step"));
      learning.progress.best = mlp::kNoError;
    } else if (robust() && other_rows() && learning.progress.best < mlp::kNoError) {
      learning.progress.best = robust_error(best_weights(learning));
    }
    if (learning.progress.position >= rows_.count() || learning.progress.epoch != model_.training.epochs) {
      throw Error(
          ErrorKind::input,
          fmt::format("{}: found {} to learn, expected the data of the model, which stopped after {} of epoch {}",
                      learn().source, counted(rows_.count(), "row"), counted(learning.progress.position, "row"),
                      learning.progress.epoch + 1));
    }
    return learning;
  }

  /// What robust training takes for the error of these weights, on the rows to learn.
  [[nodiscard]] double robust_error(std::vector<float> weights) {
    const double error = error_of(std::move(weights), learn());
    return std::min(mlp::published_error(2.0 * error / static_cast<double>(rows_.outputs)), mlp::kNoError);
  }

  /// Of robust training that has had an error.
  [[nodiscard]] static std::vector<float> best_weights(const MlpModel::Learning& learning) {
    const auto count = std::ssize(learning.parameters);
    const auto best = learning.state.begin() + mlp::kBestArray * count;
    return {best, best + count};
  }

  /// Epochs up to `end`, and a report. Says how training ends if it ends here.
  std::optional<Ending> some(std::int64_t end) {
    const auto start = Clock::now();
    TrainingState& state = model_.training;
    const std::int64_t before = state.epochs;
    std::optional<Ending> ending;
    double seconds = 0.0;
    while (state.epochs < end && !ending) {
      checkpoints_->copy(learner_);
      const auto run = Clock::now();
      const int epoch = learner_.progress().epoch, position = learner_.progress().position;
      const std::vector<double> errors = learner_.advance(end);
      const double taken = std::chrono::duration<double>(Clock::now() - run).count();
      seconds += taken;
      const double learnt =
          static_cast<double>(learner_.progress().epoch - epoch) * static_cast<double>(rows_.count()) +
          learner_.progress().position - position;
      for (const double squares : errors) record(squares, 1e6 * taken / std::max(learnt, 1.0));
      const bool good = learner_.progress().halted != mlp::kDiverged && take_over();
      if (!good) find_divergence();
      for (std::int64_t ran = epoch; ran < state.epochs; ++ran) {
        const EpochRecord& record = state.history[state.history.size() - static_cast<std::size_t>(state.epochs - ran)];
        checkpoints_->saw(static_cast<int>(record.epoch), record.train_error);
      }
      if (!good) return Ending::diverged;
      if (learner_.progress().halted == mlp::kTargetReached) ending = Ending::target_reached;
      keep([this] { return so_far(); });
      tell_progress();
      if (!ending && state.epochs < options_.integer("epochs") && stop()) ending = Ending::stopped;
    }
    if (state.epochs > before) {
      report(before, seconds, start);
      if (validating()) {
        compare_with_best(*state.history.back().validation_error, state.epochs - before);
        if (!ending && state.epochs_without_improvement >= options_.integer("patience")) {
          ending = Ending::no_improvement;
        }
      }
    }
    return ending;
  }

  /// Takes the learner and the history back to the epoch in which training diverged.
  void find_divergence() {
    checkpoints_->find_divergence(learner_,
                                  [this](MlpLearner& learner) { return usable_weights(learner).has_value(); });
    const mlp::Progress& progress = learner_.progress();
    // Found by a row of the next epoch, or by the weights that the last one has left.
    divergence_ = progress.epoch + (progress.halted == mlp::kDiverged || progress.position > 0 ? 1 : 0);
    TrainingState& state = model_.training;
    for (; state.epochs > progress.epoch; --state.epochs) state.history.pop_back();
  }

  void record(double squares, double microseconds_per_sample) {
    EpochRecord record;
    record.epoch = ++model_.training.epochs;
    record.samples = rows_.count();
    record.train_error = 0.5 * squares / static_cast<double>(rows_.count());
    record.microseconds_per_sample = microseconds_per_sample;
    model_.training.history.push_back(record);
  }

  /// The weights of the moment, if float32 can compute with them; if not, those that robust training goes back to in
  /// the next epoch. Nothing if there are none.
  [[nodiscard]] std::optional<std::vector<float>> usable_weights(MlpLearner& learner) const {
    std::vector<float> weights = learner.parameters();
    if (fault_of(weights).empty()) return weights;
    if (!robust()) return std::nullopt;
    weights = best_weights(learner.learning());
    if (fault_of(weights).empty()) return weights;
    return std::nullopt;
  }

  /// Brings the weights of the moment into the model. False, and the model stays as it is, if they are not usable.
  [[nodiscard]] bool take_over() {
    std::optional<std::vector<float>> weights = usable_weights(learner_);
    if (!weights) return false;
    own().parameters = std::move(*weights);
    model_.training.position = learner_.progress().position;
    model_.training.partial_loss = 0.5 * learner_.progress().squares;
    return true;
  }

  void report(std::int64_t before, double seconds, Clock::time_point start) {
    const TrainingState& state = model_.training;
    EpochReport report;
    report.epoch = state.epochs;
    report.size = model_.size();
    report.samples = rows_.count() * (state.epochs - before);
    report.train_error = state.history.back().train_error;
    report.microseconds_per_sample = 1e6 * seconds / static_cast<double>(report.samples);
    const Candidate& candidate = learner_.candidate();
    report.mappings.push_back({.capacity = learner_.rows_of_step(),
                               .problem = learner_.problem().text(),
                               .configuration = candidate.configuration.text(),
                               .tier = candidate.tier,
                               .samples = report.samples,
                               .microseconds_per_sample = report.microseconds_per_sample,
                               .promised = candidate.promised});
    tell(std::move(report), start, candidate);
  }

  void compare_with_best(double error, std::int64_t epochs) {
    TrainingState& state = model_.training;
    if (state.best_epoch > 0 && error >= state.best_error) {
      state.epochs_without_improvement += epochs;
      return;
    }
    state.best_epoch = state.epochs;
    state.best_error = error;
    state.epochs_without_improvement = 0;
    best_ = own().parameters;
  }

  void tell_progress() const {
    if (!observer_.progress) return;
    const mlp::Progress& progress = learner_.progress();
    observer_.progress({.epoch = progress.epoch + 1,
                        .last_epoch = options_.integer("epochs"),
                        .position = progress.position,
                        .samples = rows_.count(),
                        .size = model_.size().text});
  }

  /// Gives `model` the place to go on from. None is one with weights that only robust training, by going back, could
  /// make something of, or with moments that are infinite.
  void put_place_to_go_on_from(Model& model) {
    MlpModel::Learning learning = learner_.learning();
    if (fault_of(learning.parameters).empty() && fault_of_learning(learning).empty()) {
      std::get<MlpModel>(model.network).last = std::move(learning);
    } else {
      forget_place(model);
    }
  }
  static void forget_place(Model& model) {
    std::get<MlpModel>(model.network).last.reset();
    model.training.position = 0;
    model.training.partial_loss = 0.0;
  }

  [[nodiscard]] TrainingResult so_far() {
    Model model = model_;
    put_place_to_go_on_from(model);
    std::string message = where_it_stands(model.training, rows_.count());
    return with_best(std::move(model), reports_, Ending::stopped, std::move(message));
  }

  [[nodiscard]] TrainingResult ended(Model model, std::vector<EpochReport> reports, Ending ending,
                                     std::string message) {
    put_place_to_go_on_from(model);
    return with_best(std::move(model), std::move(reports), ending, std::move(message));
  }

  /// `model` has the weights of the moment; with a validation part its weights become the best ones.
  [[nodiscard]] TrainingResult with_best(Model model, std::vector<EpochReport> reports, Ending ending,
                                         std::string message) const {
    std::optional<Score> test;
    for (const EpochReport& report : reports) {
      if (!best_ || report.epoch == model.training.best_epoch) test = report.test;
    }
    if (best_) std::get<MlpModel>(model.network).parameters = *best_;
    return {.model = std::move(model),
            .epochs = std::move(reports),
            .test = test,
            .ending = ending,
            .message = std::move(message)};
  }

  [[nodiscard]] bool robust() const { return options_.word("rule") == "adaptive" && options_.flag("robust"); }

  /// Whether the errors have risen far, though all numbers are finite. Robust training goes back on its own.
  [[nodiscard]] bool rose() {
    if (robust()) return false;
    const std::vector<EpochRecord>& history = model_.training.history;
    const double last = history.back().train_error;
    if (last <= kDivergedError * error_of_mean(rows_)) return false;
    first_error_ = history.front().train_error;
    // A mini-batch may diverge within the first epoch, so that its error is not that of the start. What a training goes
    // on from after that epoch is no start: its error has fallen already.
    const MlpCheckpoints::Weights& first = checkpoints_->first();
    if (first.epoch == 0) first_error_ = std::min(first_error_, error_of(first.parameters, learn()));
    return last > kDivergedError * first_error_;
  }

  /// Of other weights; infinite if these give no numbers.
  [[nodiscard]] double error_of(std::vector<float> parameters, const Dataset& rows) {
    if (!predictor_) predictor_ = std::make_unique<MlpPredictor>(device_, known_, own(), observer_.notice);
    if (!fault_of(parameters).empty()) return std::numeric_limits<double>::infinity();
    std::swap(own().parameters, parameters);
    const double error = score(model_, rows, predict(*predictor_, model_, rows)).error;
    std::swap(own().parameters, parameters);
    return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
  }

  /// The result with the best weights that there were: by the validation error where rows are kept back, else by the
  /// train error. Throws Error(input) if not even the first weights give numbers.
  [[nodiscard]] TrainingResult diverged() {
    const std::string message = divergence();
    TrainingState& state = model_.training;
    // What went wrong is no place to go on from.
    forget_place(model_);
    double least = best_ ? state.best_error : std::numeric_limits<double>::infinity();
    std::int64_t epoch = state.best_epoch;
    const Dataset& judge = validating() ? parts_.validation : learn();
    for (MlpCheckpoints::Weights& weights : checkpoints_->best(learner_)) {
      const double error = error_of(weights.parameters, judge);
      if (error >= least) continue;
      least = error;
      epoch = weights.epoch;
      best_ = std::move(weights.parameters);
    }
    if (!best_) throw Error(ErrorKind::input, message);
    own().parameters = std::move(*best_);
    if (validating()) {
      state.best_epoch = epoch;
      state.best_error = epoch > 0 ? least : 0.0;
      state.epochs_without_improvement = state.epochs - epoch;
    }
    std::optional<Score> test;
    if (test_ != nullptr) test = score(model_, *test_, predict(*predictor_, model_, *test_));
    return {.model = std::move(model_),
            .epochs = std::move(reports_),
            .test = test,
            .ending = Ending::diverged,
            .message = fmt::format("{}; the weights are those {}", message,
                                   epoch > 0 ? fmt::format("after epoch {}", epoch) : "before the first epoch")};
  }

  [[nodiscard]] std::string divergence() const {
    const bool by_rate = options_.word("rule") == "plain" || options_.word("rule") == "adam";
    const char* option = by_rate ? "rate" : "largest-step";
    const auto line = [&](const std::string& what) {
      return fmt::format("training diverged{}: a smaller --{} (now {}) may help", what, option, options_.word(option));
    };
    if (divergence_ > 0) return line(fmt::format(" in epoch {}", divergence_));
    const EpochRecord& last = model_.training.history.back();
    return line(fmt::format(", the train error rose from {:.4g} to {:.4g} in epoch {}", first_error_, last.train_error,
                            last.epoch));
  }

  Knowledge known_;
  LearningRows rows_;
  double largest_input_;
  MlpLearner learner_;
  std::optional<MlpCheckpoints> checkpoints_;  // from the first weights on
  int divergence_ = 0;                         // the epoch in which numbers became none; 0: they did not
  double first_error_ = 0.0;                   // of the first weights, where the errors rose
  std::optional<std::vector<float>> best_;     // by validation error
};

}  // namespace

const Trainer& mlp_trainer() {
  static const SessionTrainer<MlpModel, MlpSession> trainer(
      "multilayer perceptron: layers of neurons, all rows at once or in mini-batches", mlp_options(),
      {&mlp::train_family(), &mlp::predict_family()});
  return trainer;
}

}  // namespace heddle
