#include "heddle/runtime/train/sonfin_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "heddle/runtime/train/shuffle.hpp"
#include "heddle/runtime/train/sonfin_learner.hpp"
#include "heddle/runtime/train/sonfin_options.hpp"
#include "heddle/runtime/train/training_session.hpp"

namespace heddle {

namespace {

bool finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}
bool finite(const sonfin::Network& network) {
  return finite(network.centres) && finite(network.widths) && finite(network.consequents);
}

/// Where a run begins: a new model's threshold, or what a resumed one has to agree with.
void check_start(Model& model, const TrainingJob& job, const Dataset& learn, const OptionValues& options) {
  if (job.resume == nullptr || job.options.is_set("threshold")) {
    model.training.log_threshold = std::log(options.number("threshold"));
  }
  if (job.resume == nullptr) return;
  if (options.integer("max-rules") < model.network.rules()) {
    throw Error(ErrorKind::usage, fmt::format("--max-rules: found {}, expected at least {} as in the model",
                                              options.word("max-rules"), model.network.rules()));
  }
  if (learn.rows() <= model.training.position) {
    throw Error(ErrorKind::input,
                fmt::format("{}: found {} rows to learn, expected the data of the model, which stopped "
                            "after {} rows of an epoch",
                            learn.source, learn.rows(), model.training.position));
  }
}

LearningRows first_rows(Model& model, const TrainingJob& job, const Dataset& learn, const OptionValues& options) {
  check_start(model, job, learn, options);
  return learning_rows(model, learn);
}

/// The model it works on has the network of the moment; the best one is kept beside it.
class Session : private TrainingSession {
 public:
  Session(Device& device, const std::vector<Profile>& profiles, const TrainingJob& job,
          const TrainingObserver& observer)
      : TrainingSession(device, job, observer, training_options(job, "sonfin"), "sonfin"),
        rows_(first_rows(model_, job, learn(), options_)),
        learner_(device, profiles, rows_, options_.integer("max-rules"), observer.notice) {
    open_predictor(profiles, rows_.outputs, options_.integer("max-rules"));
    model_.hyperparameters = hyperparameters(options_, spread(rows_.rows, rows_.dim));
    begin();
    TrainingState& state = model_.training;
    if (state.best_epoch > 0) best_ = model_.network;
    if (state.last) model_.network = *std::exchange(state.last, std::nullopt);
  }

  TrainingResult run() {
    const std::int64_t epochs = options_.integer("epochs");
    while (model_.training.epochs < epochs) {
      if (const auto ending = epoch()) return finish(*ending);
      if (model_.training.epochs < epochs && stop()) return finish(Ending::stopped);
    }
    return finish(Ending::completed);
  }

 private:
  /// The rest of the present epoch; says how training ends if it ends here.
  std::optional<Ending> epoch() {
    const auto start = Clock::now();
    TrainingState& state = model_.training;
    sonfin::Control control = sonfin::control(model_.hyperparameters, rows_.count());
    control.log_threshold = static_cast<float>(state.log_threshold);
    learner_.begin(model_.network, control, order(state.epochs + 1), state.position, state.partial_loss);
    for (bool more = true; more;) {
      more = learner_.advance();
      if (!std::isfinite(learner_.loss())) return Ending::diverged;
      tell_progress();
      if (more && stop()) return pause();
    }
    sonfin::Network learnt = learner_.network();
    if (!finite(learnt)) return Ending::diverged;
    model_.network = std::move(learnt);
    const std::int64_t samples = rows_.count() - state.position;
    state.epochs += 1;
    state.position = 0;
    state.partial_loss = 0.0;
    state.log_threshold -= options_.number("threshold-decay");
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

  Ending pause() {
    sonfin::Network learnt = learner_.network();
    if (!finite(learnt)) return Ending::diverged;
    model_.network = std::move(learnt);
    model_.training.position = learner_.position();
    model_.training.partial_loss = learner_.loss();
    return Ending::stopped;
  }

  void tell_progress() const {
    if (!observer_.progress) return;
    observer_.progress({.epoch = model_.training.epochs + 1,
                        .last_epoch = options_.integer("epochs"),
                        .position = learner_.position(),
                        .samples = rows_.count(),
                        .rules = learner_.rules()});
  }

  void report(Clock::time_point start, std::int64_t samples) {
    TrainingState& state = model_.training;
    EpochReport report;
    report.epoch = state.epochs;
    report.rules = model_.network.rules();
    report.samples = samples;
    report.train_error = learner_.loss() / static_cast<double>(rows_.count());
    report.microseconds_per_sample = 1e6 * learner_.seconds() / static_cast<double>(samples);
    for (const SonfinLearner::Use& use : learner_.uses()) {
      const Rung& rung = learner_.rungs()[use.rung];
      report.mappings.push_back(
          {.capacity = rung.problem.at("rules"),
           .configuration = rung.candidate.configuration.text(),
           .tier = rung.candidate.tier,
           .samples = use.samples,
           .microseconds_per_sample = 1e6 * use.seconds / std::max(1.0, static_cast<double>(use.samples)),
           .promised = rung.candidate.promised});
    }
    state.history.push_back({.epoch = report.epoch,
                             .rules = report.rules,
                             .samples = report.samples,
                             .train_error = report.train_error,
                             .validation_error = {},
                             .validation_value = {},
                             .test_error = {},
                             .test_value = {},
                             .microseconds_per_sample = report.microseconds_per_sample});
    tell(std::move(report), start, learner_.rungs()[learner_.uses().back().rung].candidate);
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
    best_ = model_.network;
  }

  TrainingResult finish(Ending ending) {
    TrainingState& state = model_.training;
    std::string message = line_about(ending);
    if (ending == Ending::stopped) {
      message = fmt::format("stopped after {} epochs and {} of {} rows of the next", state.epochs, state.position,
                            rows_.count());
    }
    if (ending == Ending::diverged) message = divergence();
    std::optional<Score> test;
    for (const EpochReport& report : reports_) {
      if (!best_ || report.epoch == state.best_epoch) test = report.test;
    }
    // The network of the moment goes along where it is not the best, for a run that goes on from here.
    if (best_ && (state.best_epoch != state.epochs || state.position > 0)) {
      state.last = std::exchange(model_.network, std::move(*best_));
    }
    return result(ending, std::move(message), test);
  }

  [[nodiscard]] std::string divergence() const {
    const TrainingState& state = model_.training;
    std::string line = fmt::format(
        "training diverged in epoch {} within {} rows: smaller --learning-rate (now {}), --antecedent-rate "
        "(now {}) or --step scaled may help",
        state.epochs + 1, learner_.position(), options_.word("learning-rate"), options_.word("antecedent-rate"));
    if (model_.network.rules() == 0) throw Error(ErrorKind::usage, line);
    return line;
  }

  LearningRows rows_;
  SonfinLearner learner_;
  std::optional<sonfin::Network> best_;
};

}  // namespace

const Trainer& sonfin_trainer() {
  static const SessionTrainer<Session> trainer(
      "sonfin",
      "self-constructing neural fuzzy network, learnt row after row: finds its rules itself, for many inputs too",
      sonfin_options());
  return trainer;
}

}  // namespace heddle
