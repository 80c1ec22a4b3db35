#include "heddle/runtime/train/sonfin_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "heddle/runtime/train/shuffle.hpp"
#include "heddle/runtime/train/sonfin_learner.hpp"
#include "heddle/runtime/train/sonfin_options.hpp"
#include "heddle/runtime/train/training_data.hpp"

namespace heddle {

namespace {

using Clock = std::chrono::steady_clock;

bool finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}
bool finite(const sonfin::Network& network) {
  return finite(network.centres) && finite(network.widths) && finite(network.consequents);
}

OptionValues checked_options(const TrainingJob& job) {
  // Of another trainer's model not even the options have a meaning: check_options() says so.
  const bool own = job.resume != nullptr && job.resume->training.trainer == "sonfin";
  OptionValues options = own ? with_options_of(*job.resume, job.options) : job.options;
  check_options(job, options, "sonfin");
  return options;
}

Model new_model(const Dataset& learn, const OptionValues& options) {
  Model model = model_for(learn, options, "sonfin");
  model.training.log_threshold = std::log(options.number("threshold"));
  return model;
}

Model resumed_model(const TrainingJob& job, const Dataset& learn, const OptionValues& options) {
  Model model = *job.resume;
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
  if (job.options.is_set("threshold")) model.training.log_threshold = std::log(options.number("threshold"));
  return model;
}

/// One call of train(). The model it works on has the network of the moment; the best one is kept beside it.
class Session {
 public:
  Session(Device& device, const std::vector<Profile>& profiles, const TrainingJob& job,
          const TrainingObserver& observer)
      : observer_(observer),
        test_(job.test),
        options_(checked_options(job)),
        seed_(static_cast<std::uint64_t>(options_.integer("seed"))),
        parts_(part_data(checked_data(job), options_.number("validation"), seed_)),
        model_(job.resume != nullptr ? resumed_model(job, learn(), options_) : new_model(learn(), options_)),
        rows_{.dim = learn().dim,
              .outputs = learn().outputs(),
              .rows = model_.inputs.apply(learn().inputs),
              .targets = network_targets(model_, learn())},
        learner_(device, profiles, rows_, options_.integer("max-rules"), observer.notice) {
    if (validating() || test_ != nullptr) {
      predictor_.emplace(device, profiles, rows_.dim, rows_.outputs, options_.integer("max-rules"), observer.notice);
    }
    model_.hyperparameters = hyperparameters(options_, spread(rows_.rows, rows_.dim));
    TrainingState& state = model_.training;
    // Errors on other validation rows, or on none, say nothing about the best epoch so far.
    const auto split = state.options.find("validation");
    const bool same_split = validating() && state.seed == seed_ && split != state.options.end() &&
                            split->second == options_.word("validation");
    sign(model_, options_, device, learn());
    if (state.best_epoch > 0 && same_split) best_ = model_.network;
    if (state.last) model_.network = *std::exchange(state.last, std::nullopt);
    if (!same_split) {
      state.best_epoch = 0;
      state.best_error = 0.0;
      state.epochs_without_improvement = 0;
    }
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
  [[nodiscard]] const Dataset& learn() const { return parts_.learn(); }
  [[nodiscard]] bool validating() const { return parts_.validation.rows() > 0; }
  [[nodiscard]] bool stop() const { return observer_.stop && observer_.stop(); }

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
      report.mappings.push_back({.capacity = rung.problem.at("rules"),
                                 .configuration = rung.candidate.configuration.text(),
                                 .tier = rung.candidate.tier,
                                 .samples = use.samples});
    }
    if (validating()) {
      report.validation = score(model_, parts_.validation, predict(*predictor_, model_, parts_.validation));
      compare_with_best(report.validation->error);
    }
    if (test_ != nullptr) report.test = score(model_, *test_, predict(*predictor_, model_, *test_));
    report.seconds = std::chrono::duration<double>(Clock::now() - start).count();

    EpochRecord record{.epoch = report.epoch,
                       .rules = report.rules,
                       .samples = report.samples,
                       .train_error = report.train_error,
                       .validation_error = {},
                       .validation_value = {},
                       .test_error = {},
                       .test_value = {},
                       .microseconds_per_sample = report.microseconds_per_sample};
    if (report.validation) {
      record.validation_error = report.validation->error;
      record.validation_value = report.validation->value;
    }
    if (report.test) {
      record.test_error = report.test->error;
      record.test_value = report.test->value;
    }
    state.history.push_back(record);
    reports_.push_back(report);
    if (observer_.epoch) observer_.epoch(report);
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
    TrainingResult result{.model = {}, .epochs = std::move(reports_), .test = {}, .ending = ending, .message = {}};
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
        result.message = fmt::format("stopped after {} epochs and {} of {} rows of the next", state.epochs,
                                     state.position, rows_.count());
        break;
      case Ending::diverged:
        result.message = divergence();
        break;
    }
    for (const EpochReport& report : result.epochs) {
      if (!best_ || report.epoch == state.best_epoch) result.test = report.test;
    }
    // The network of the moment goes along where it is not the best, for a run that goes on from here.
    if (best_ && (state.best_epoch != state.epochs || state.position > 0)) {
      state.last = std::exchange(model_.network, std::move(*best_));
    }
    result.model = std::move(model_);
    return result;
  }

  [[nodiscard]] std::string divergence() const {
    const TrainingState& state = model_.training;
    const std::string line = fmt::format(
        "training diverged in epoch {} within {} rows: smaller --learning-rate (now {}), --antecedent-rate "
        "(now {}) or --step scaled may help",
        state.epochs + 1, learner_.position(), options_.word("learning-rate"), options_.word("antecedent-rate"));
    if (model_.network.rules() == 0) throw Error(ErrorKind::usage, line);
    return line;
  }

  const TrainingObserver& observer_;
  const Dataset* test_;
  OptionValues options_;
  std::uint64_t seed_;
  DataParts parts_;
  Model model_;
  LearningRows rows_;
  SonfinLearner learner_;
  std::optional<Predictor> predictor_;
  std::optional<sonfin::Network> best_;
  std::vector<EpochReport> reports_;
};

class SonfinTrainer final : public Trainer {
 public:
  std::string_view name() const override { return "sonfin"; }
  std::string_view meaning() const override { return "self-constructing neural fuzzy network, learnt row after row"; }
  const std::vector<Option>& options() const override { return sonfin_options(); }
  TrainingResult train(Device& device, const std::vector<Profile>& profiles, const TrainingJob& job,
                       const TrainingObserver& observer) const override {
    return Session(device, profiles, job, observer).run();
  }
};

}  // namespace

const Trainer& sonfin_trainer() {
  static const SonfinTrainer trainer;
  return trainer;
}

}  // namespace heddle
