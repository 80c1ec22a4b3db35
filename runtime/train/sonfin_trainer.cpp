#include "heddle/runtime/train/sonfin_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/sonfin/predict.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/runtime/model/rule_base.hpp"
#include "heddle/runtime/train/rule_options.hpp"
#include "heddle/runtime/train/shuffle.hpp"
#include "heddle/runtime/train/sonfin_learner.hpp"
#include "heddle/runtime/train/sonfin_options.hpp"
#include "heddle/runtime/train/sonfin_predictor.hpp"
#include "heddle/runtime/train/training_session.hpp"

namespace heddle {

namespace {

Beginning sonfin_beginning(const TrainingJob& job) {
  OptionValues options = training_options(job, SonfinModel::kName);
  const Dataset& data = checked_data(job);
  SonfinModel untaught = SonfinModel::untaught(data.dim, data.outputs());
  std::vector<RuleBase> networks{rule_base(untaught.network)};
  if (job.resume != nullptr) {
    const auto& resumed = std::get<SonfinModel>(job.resume->network);
    networks.push_back(rule_base(resumed.network));
    if (resumed.last) networks.push_back(rule_base(*resumed.last));
  }
  InputLimit limit = rule_limit(options, networks);
  return {.options = std::move(options), .network = std::move(untaught), .limit = std::move(limit)};
}

/// Where a run begins: a new model's threshold, or what a resumed one has to agree with.
void check_start(Model& model, const TrainingJob& job, const Dataset& learn, const OptionValues& options) {
  auto& own = std::get<SonfinModel>(model.network);
  if (job.resume == nullptr || job.options.is_set("threshold")) {
    own.log_threshold = std::log(options.number("threshold"));
  }
  if (job.resume == nullptr) return;
  if (options.integer("max-rules") < own.network.rules()) {
    throw Error(ErrorKind::usage, fmt::format("--max-rules: found {}, expected at least {} as in the model",
                                              options.word("max-rules"), own.network.rules()));
  }
  if (learn.rows() < model.training.position) {
    throw Error(ErrorKind::input,
                fmt::format("{}: found {} to learn, expected the data of the model, which stopped after {} of an epoch",
                            learn.source, counted(learn.rows(), "row"), counted(model.training.position, "row")));
  }
}

LearningRows first_rows(Model& model, const TrainingJob& job, const Dataset& learn, const OptionValues& options) {
  check_start(model, job, learn, options);
  return learning_rows(model, learn);
}

/// The model it works on has the network of the moment; the best one is kept beside it.
class SonfinSession final : public TrainingSession {
 public:
  SonfinSession(Device& device, const Knowledge& known, const TrainingJob& job, const TrainingObserver& observer)
      : TrainingSession(device, job, observer, sonfin_beginning(job)),
        rows_(first_rows(model_, job, learn(), options_)),
        learner_(device, known, rows_, options_.integer("max-rules"), observer.notice, observer.stop) {
    if (scoring()) {
      predictor_ = std::make_unique<SonfinPredictor>(device, known, own(), options_.integer("max-rules"),
                                                     observer.notice, observer.stop);
    }
    own().hyperparameters = hyperparameters(options_, spread(rows_.rows, rows_.dim));
    begin();
    if (model_.training.best_epoch > 0) best_ = own().network;
    if (own().last) own().network = *std::exchange(own().last, std::nullopt);
    announce(own().largest_bytes(std::min(options_.integer("max-rules"), own().network.rules() + rows_.count())));
    show_beginning(own());
  }

  static std::unique_ptr<Predictor> predictor(Device& device, const Knowledge& known, const SonfinModel& network,
                                              const Notice& notice) {
    return std::make_unique<SonfinPredictor>(device, known, network, network.network.rules(), notice);
  }

  std::optional<Ending> advance() override {
    const std::int64_t epochs = options_.integer("epochs");
    if (model_.training.epochs < epochs) {
      if (const auto ending = epoch()) return ending;
    }
    if (model_.training.epochs >= epochs) return Ending::completed;
    return stop() ? std::optional(Ending::stopped) : std::nullopt;
  }

  TrainingResult finish(Ending ending) override {
    if (ending == Ending::diverged && own().network.rules() == 0) throw Error(ErrorKind::input, divergence());
    std::string message = ending == Ending::diverged  ? divergence()
                          : ending == Ending::stopped ? where_it_stands(model_.training, rows_.count())
                                                      : line_about(ending);
    return ended(std::move(model_), std::move(reports_), ending, std::move(message));
  }

 private:
  [[nodiscard]] SonfinModel& own() { return std::get<SonfinModel>(model_.network); }

  /// The rest of the present epoch; says how training ends if it ends here.
  std::optional<Ending> epoch() {
    const auto start = Clock::now();
    TrainingState& state = model_.training;
    sonfin::Control control = sonfin::control(own().hyperparameters, rows_.count());
    control.log_threshold = static_cast<float>(own().log_threshold);
    if (learnt_here_) {
      learner_.begin_again(control, order(state.epochs + 1));
    } else {
      learner_.begin(own().network, control, order(state.epochs + 1), state.position, state.partial_loss);
    }
    learnt_here_ = false;
    // Training may have been interrupted after the last row and before the scores.
    for (bool more = state.position < rows_.count(); more;) {
      more = learner_.advance();
      if (!std::isfinite(learner_.loss())) return Ending::diverged;
      tell_progress();
      keep([this] { return so_far(); });
      if (more && stop()) return pause(model_) ? Ending::stopped : Ending::diverged;
    }
    const std::int64_t samples = rows_.count() - state.position;
    if (!pause(model_)) return Ending::diverged;
    learnt_here_ = true;
    state.epochs += 1;
    state.position = 0;
    state.partial_loss = 0.0;
    own().log_threshold -= options_.number("threshold-decay");
    report(start, samples);

    const double target = options_.number("target-error");
    if (target > 0.0 && state.history.back().train_error <= target) return Ending::target_reached;
    if (validating() && state.epochs_without_improvement >= options_.integer("patience")) return Ending::no_improvement;
    return std::nullopt;
  }

  [[nodiscard]] std::vector<std::int32_t> order(std::int64_t epoch) const {
    if (options_.flag("shuffle")) return permutation(rows_.count(), seed_, static_cast<std::uint64_t>(epoch));
    std::vector<std::int32_t> identity(static_cast<std::size_t>(rows_.count()));
    std::iota(identity.begin(), identity.end(), 0);
    return identity;
  }

  /// Takes over what was learnt in this epoch. False, and the model stays as it is, if that is not usable.
  [[nodiscard]] bool pause(Model& model) {
    learner_.fetch(learnt_);
    if (!fault(rule_base(learnt_)).empty()) return false;
    std::swap(std::get<SonfinModel>(model.network).network, learnt_);
    model.training.position = learner_.position();
    model.training.partial_loss = learner_.loss();
    return true;
  }

  [[nodiscard]] TrainingResult so_far() {
    Model model = model_;
    (void)pause(model);  // else as it was before this epoch
    std::string message = where_it_stands(model.training, rows_.count());
    return ended(std::move(model), reports_, Ending::stopped, std::move(message));
  }

  void tell_progress() const {
    if (!observer_.progress) return;
    observer_.progress({.epoch = model_.training.epochs + 1,
                        .last_epoch = options_.integer("epochs"),
                        .position = learner_.position(),
                        .samples = rows_.count(),
                        .size = size_of(learner_.rules()).text});
  }

  void report(Clock::time_point start, std::int64_t samples) {
    TrainingState& state = model_.training;
    EpochReport report;
    report.epoch = state.epochs;
    report.size = model_.size();
    report.samples = samples;
    report.train_error = learner_.loss() / static_cast<double>(rows_.count());
    report.microseconds_per_sample = samples > 0 ? 1e6 * learner_.seconds() / static_cast<double>(samples) : 0.0;
    for (const SonfinLearner::Use& use : learner_.uses()) {
      const TunedPlan& rung = learner_.ladder()[use.rung];
      report.mappings.push_back(
          {.capacity = learner_.ladder().capacity(use.rung),
           .problem = rung.problem().text(),
           .configuration = rung.configuration().text(),
           .tier = rung.candidate().tier,
           .samples = use.samples,
           .microseconds_per_sample = 1e6 * use.seconds / std::max(1.0, static_cast<double>(use.samples)),
           .promised = rung.candidate().promised});
    }
    state.history.push_back({.epoch = report.epoch,
                             .counts = report.size.counts,
                             .samples = report.samples,
                             .train_error = report.train_error,
                             .validation_error = {},
                             .validation_value = {},
                             .test_error = {},
                             .test_value = {},
                             .microseconds_per_sample = report.microseconds_per_sample});
    tell(std::move(report), start, learner_.ladder()[learner_.uses().back().rung].candidate());
    if (validating()) compare_with_best(*state.history.back().validation_error);
  }

  void compare_with_best(double error) {
    TrainingState& state = model_.training;
    if (state.best_epoch > 0 && error >= state.best_error) {
      state.epochs_without_improvement += 1;
      return;
    }
    state.best_epoch = state.epochs;
    state.best_error = error;
    state.epochs_without_improvement = 0;
    best_ = own().network;
  }

  /// The result of training if it ends with `model`, which has the network of the moment.
  [[nodiscard]] TrainingResult ended(Model model, std::vector<EpochReport> reports, Ending ending,
                                     std::string message) const {
    const TrainingState& state = model.training;
    std::optional<Score> test;
    for (const EpochReport& report : reports) {
      if (!best_ || report.epoch == state.best_epoch) test = report.test;
    }
    // The network of the moment goes along where it is not the best, for a run that goes on from here.
    if (best_ && (state.best_epoch != state.epochs || state.position > 0)) {
      auto& ended_with = std::get<SonfinModel>(model.network);
      ended_with.last = std::exchange(ended_with.network, *best_);
    }
    return {.model = std::move(model),
            .epochs = std::move(reports),
            .test = test,
            .ending = ending,
            .message = std::move(message)};
  }

  [[nodiscard]] std::string divergence() const {
    return fmt::format(
        "training diverged in epoch {} within {}: smaller --learning-rate (now {}), --antecedent-rate (now {}), "
        "a larger --minimum-width (now {}) or --step scaled may help",
        model_.training.epochs + 1, counted(learner_.position(), "row"), options_.word("learning-rate"),
        options_.word("antecedent-rate"), options_.word("minimum-width"));
  }

  LearningRows rows_;
  SonfinLearner learner_;
  bool learnt_here_ = false;  ///< the learner still has the parameters of the model
  sonfin::Network learnt_;    ///< memory for the next that is fetched
  std::optional<sonfin::Network> best_;
};

}  // namespace

const Trainer& sonfin_trainer() {
  static const SessionTrainer<SonfinModel, SonfinSession> trainer(
      "self-constructing neural fuzzy network, learnt row after row: finds its rules itself, for many inputs too",
      sonfin_options(), {&sonfin::train_family(), &sonfin::predict_family()});
  return trainer;
}

}  // namespace heddle
