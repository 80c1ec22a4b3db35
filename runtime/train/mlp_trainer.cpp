#include "heddle/runtime/train/mlp_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/kernels/mlp/predict.hpp"
#include "heddle/kernels/mlp/rules.hpp"
#include "heddle/kernels/mlp/train.hpp"
#include "heddle/runtime/train/mlp_learner.hpp"
#include "heddle/runtime/train/mlp_options.hpp"
#include "heddle/runtime/train/mlp_predictor.hpp"
#include "heddle/runtime/train/mlp_weights.hpp"
#include "heddle/runtime/train/training_session.hpp"

namespace heddle {

namespace {

/// Larger inputs would make squares of gradients infinite in float32.
constexpr double kLargestScaledInput = 1e9;

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
    if (const std::string fault = fault_of_weights(network); !fault.empty()) {
      throw Error(ErrorKind::input, fmt::format("{}: found {}", job.weights->source, fault));
    }
  }
  const Scale targets = parse_scale(options.word("target-scale"));
  return {.options = std::move(options),
          .network = std::move(network),
          .limit = {.largest = kLargestScaledInput, .setting = {}, .held = "weighted sums of them"},
          .target_scale = targets};
}

/// Throws Error(input) where an output cannot reach a target.
void check_targets(const LearningRows& rows, const OptionValues& options, const std::string& source) {
  if (options.word("output") != "sigmoid") return;
  const auto beyond = std::ranges::find_if(rows.targets, [](float target) { return target < 0.0F || target > 1.0F; });
  if (beyond == rows.targets.end()) return;
  throw Error(
      ErrorKind::input,
      fmt::format("{}: found the target {} in row {}, expected a number from 0 to 1, which --output sigmoid can "
                  "reach with --target-scale {}",
                  source, *beyond, (beyond - rows.targets.begin()) / rows.outputs + 1, options.word("target-scale")));
}

/// The model it works on has the weights of the moment; the best ones are kept beside them.
class MlpSession final : public TrainingSession {
 public:
  MlpSession(Device& device, const Knowledge& known, const TrainingJob& job, const TrainingObserver& observer)
      : TrainingSession(device, job, observer, mlp_beginning(job)),
        rows_(learning_rows(model_, learn())),
        learner_(device, known, rows_, own().layers, mlp_control(options_, rows_.count(), rows_.outputs), seed_,
                 interval() * rows_.count(), observer.notice, observer.stop) {
    check_targets(rows_, options_, learn().source);
    if (scoring()) {
      predictor_ = std::make_unique<MlpPredictor>(device, known, own(), observer.notice, observer.stop);
    }
    begin();
    if (model_.training.best_epoch > 0) best_ = own().parameters;
    learner_.begin(first_learning());
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
    if (state.epochs >= epochs) return Ending::completed;
    const auto ending = some(std::min(epochs, state.epochs + interval()));
    if (ending) return ending;
    if (state.epochs >= epochs) return Ending::completed;
    return stop() ? std::optional(Ending::stopped) : std::nullopt;
  }

  TrainingResult finish(Ending ending) override {
    std::string message = line_about(ending);
    if (ending == Ending::stopped) message = where_it_stands(model_.training);
    if (ending == Ending::diverged) {
      message = divergence();
      if (best_train_.empty() && !best_) throw Error(ErrorKind::input, message);
      // What went wrong is no place to go on from: the best weights so far.
      own().last.reset();
      own().parameters = best_ ? *best_ : best_train_;
    }
    return ended(std::move(model_), std::move(reports_), ending, std::move(message));
  }

 private:
  [[nodiscard]] MlpModel& own() { return std::get<MlpModel>(model_.network); }

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
    const int arrays = mlp::state_arrays(rule, options_.flag("robust"));
    if (learning.state.size() != learning.parameters.size() * static_cast<std::size_t>(arrays)) learning.state.clear();
    if (learning.state.empty()) {
      learning.state = mlp::first_state(rule, own().layers.parameters(), options_.number("first-step"));
    }
    if (learning.progress.position >= rows_.count() || learning.progress.epoch != model_.training.epochs) {
      throw Error(ErrorKind::input,
                  fmt::format("{}: found {} rows to learn, expected the data of the model, which stopped after {} rows "
                              "of epoch {}",
                              learn().source, rows_.count(), learning.progress.position, learning.progress.epoch + 1));
    }
    return learning;
  }

  /// Epochs up to `end`, and a report. Says how training ends if it ends here.
  std::optional<Ending> some(std::int64_t end) {
    const auto start = Clock::now();
    TrainingState& state = model_.training;
    const std::int64_t before = state.epochs;
    std::optional<Ending> ending;
    double seconds = 0.0;
    while (state.epochs < end && !ending) {
      const auto run = Clock::now();
      const int epoch = learner_.progress().epoch, position = learner_.progress().position;
      const std::vector<double> errors = learner_.advance(end);
      const double taken = std::chrono::duration<double>(Clock::now() - run).count();
      seconds += taken;
      const double learnt =
          static_cast<double>(learner_.progress().epoch - epoch) * static_cast<double>(rows_.count()) +
          learner_.progress().position - position;
      for (const double squares : errors) record(squares, 1e6 * taken / std::max(learnt, 1.0));
      if (learner_.progress().halted == mlp::kDiverged || !take_over()) return Ending::diverged;
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

  void record(double squares, double microseconds_per_sample) {
    EpochRecord record;
    record.epoch = ++model_.training.epochs;
    record.samples = rows_.count();
    record.train_error = 0.5 * squares / static_cast<double>(rows_.count());
    record.microseconds_per_sample = microseconds_per_sample;
    model_.training.history.push_back(record);
  }

  /// Brings the weights of the moment into the model. False, and the model stays as it is, if they are not usable.
  [[nodiscard]] bool take_over() {
    MlpModel learnt = own();
    learnt.parameters = learner_.parameters();
    if (!fault_of_weights(learnt).empty()) return false;
    TrainingState& state = model_.training;
    if (!state.history.empty() && state.history.back().train_error < best_train_error_) {
      best_train_error_ = state.history.back().train_error;
      best_train_ = learnt.parameters;
    }
    own() = std::move(learnt);
    state.position = learner_.progress().position;
    state.partial_loss = 0.5 * learner_.progress().squares;
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

  [[nodiscard]] TrainingResult so_far() {
    Model model = model_;
    std::get<MlpModel>(model.network).last = learner_.learning();
    std::string message = where_it_stands(model.training);
    return with_best(std::move(model), reports_, Ending::stopped, std::move(message));
  }

  [[nodiscard]] TrainingResult ended(Model model, std::vector<EpochReport> reports, Ending ending,
                                     std::string message) {
    if (ending != Ending::diverged) std::get<MlpModel>(model.network).last = learner_.learning();
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

  [[nodiscard]] std::string where_it_stands(const TrainingState& state) const {
    return fmt::format("stopped after {} epochs and {} of {} rows of the next", state.epochs, state.position,
                       rows_.count());
  }

  [[nodiscard]] std::string divergence() const {
    const bool by_rate = options_.word("rule") == "plain" || options_.word("rule") == "adam";
    const char* option = by_rate ? "rate" : "largest-step";
    // Found by a row of the next epoch, or by the weights that the last one has left.
    const mlp::Progress& progress = learner_.progress();
    const bool within = progress.halted == mlp::kDiverged || progress.position > 0;
    return fmt::format("training diverged in epoch {}: a smaller --{} (now {}) may help",
                       progress.epoch + (within ? 1 : 0), option, options_.word(option));
  }

  LearningRows rows_;
  MlpLearner learner_;
  std::optional<std::vector<float>> best_;  // by validation error
  std::vector<float> best_train_;           // by train error, for a training that diverges
  double best_train_error_ = mlp::kNoError;
};

}  // namespace

const Trainer& mlp_trainer() {
  static const SessionTrainer<MlpModel, MlpSession> trainer(
      "multilayer perceptron: layers of neurons, all rows at once or in mini-batches", mlp_options(),
      {&mlp::train_family(), &mlp::predict_family()});
  return trainer;
}

}  // namespace heddle
