#include "heddle/runtime/train/training_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "heddle/kernels/counted.hpp"
#include "heddle/profiles/environment.hpp"
#include "heddle/runtime/model/model_file.hpp"

namespace heddle {

namespace {

// An epoch so many times as long as promised is worth a line, if it is more than the moment that any other process may
// take.
constexpr double kSlow = 1.5, kMoment = 5e3;  // microseconds

/// What has changed since the mapping was measured; empty if nothing has, or if the device cannot tell: a compiler that
/// does not even say its version is no reason to end a training, which does not need it.
std::string change_since_tuning(const Device& device, const Candidate& mapping) {
  if (mapping.profile == nullptr) return {};
  try {
    const Provenance& now = device.provenance();
    return change_since(*mapping.profile, {.driver = now.driver, .compiler = now.compiler, .clocks = now.clocks});
  } catch (const Error&) {
    return {};
  }
}

std::string likely_cause(const Device& device, const Candidate& mapping, const std::string& contention) {
  std::string change = change_since_tuning(device, mapping);
  if (!change.empty()) return change;
  if (!contention.empty()) return contention;
  return fmt::format("other programs may be using {}, or its clocks are lower than when it was tuned",
                     device.identity().name);
}

}  // namespace

TrainingSession::TrainingSession(Device& device, const TrainingJob& job, const TrainingObserver& observer,
                                 Beginning beginning)
    : device_(device),
      observer_(observer),
      test_(job.test),
      options_(std::move(beginning.options)),
      seed_(static_cast<std::uint64_t>(options_.integer("seed"))),
      parts_(part_data(checked_data(job), options_.number("validation"), seed_)),
      model_(job.resume != nullptr
                 ? *job.resume
                 : model_for(learn(), options_, std::move(beginning.network), beginning.target_scale)),
      digest_(digest(parts_)),
      other_rows_(!model_.training.rows.empty() && model_.training.rows != digest_) {
  if (other_rows()) {  // the rest of an epoch of those would be no epoch of these
    model_.training.position = 0;
    model_.training.partial_loss = 0.0;
  }
  check_ranges(beginning.limit);
}

void TrainingSession::check_ranges(const InputLimit& limit) const {
  if (const auto beyond = model_.inputs.first_beyond(learn().values(), limit.largest)) {
    throw Error(
        ErrorKind::usage,
        fmt::format("--scale {}{}{}: found {} in row {} of {}, expected scaled inputs up to {:.3g}, so that "
                    "float32 can hold {}",
                    options_.word("scale"), limit.setting.empty() ? "" : ", ", limit.setting, learn().values()[*beyond],
                    learn().row_number(*beyond / static_cast<std::size_t>(learn().dim)), learn().source, limit.largest,
                    limit.held));
  }
  check_rows(model_, parts_.validation, limit.largest);
  if (test_ != nullptr) check_rows(model_, *test_, limit.largest);
}

double TrainingSession::largest_input() const {
  double largest =
      std::max(model_.inputs.largest_size(learn().values()), model_.inputs.largest_size(parts_.validation.values()));
  if (test_ != nullptr) largest = std::max(largest, model_.inputs.largest_size(test_->values()));
  return largest;
}

void TrainingSession::announce(std::int64_t bytes) const {
  if (observer_.room) observer_.room(largest_encoding(model_, bytes, options_.integer("epochs")));
}

void TrainingSession::show_beginning(const AnyNetwork& network) const {
  if (!observer_.model) return;
  Model first = model_;
  first.network = network;
  observer_.model(first);
}

void TrainingSession::begin() {
  TrainingState& state = model_.training;
  const auto split = state.options.find("validation");
  const bool same_split = split != state.options.end() && split->second == options_.word("validation") &&
                          (state.seed == seed_ || !validating());
  if (!same_split || other_rows()) {
    state.best_epoch = 0;
    state.best_error = 0.0;
    state.epochs_without_improvement = 0;
  }
  sign(model_, options_, device_, learn());
  state.rows = digest_;
}

void TrainingSession::tell(EpochReport report, Clock::time_point start, const Candidate& last) {
  EpochRecord& record = model_.training.history.back();
  if (validating()) {
    report.validation = score(model_, parts_.validation, predict(*predictor_, model_, parts_.validation));
    // Of the same rows, unless the network that is scored is not the one of this epoch.
    if (!record.validation_error) record.validation_error = report.validation->error;
    record.validation_value = report.validation->value;
  }
  if (test_ != nullptr) {
    report.test = score(model_, *test_, predict(*predictor_, model_, *test_));
    record.test_error = report.test->error;
    record.test_value = report.test->value;
  }
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  reports_.push_back(report);
  if (observer_.epoch) observer_.epoch(report);
  if (observer_.model) observer_.model(model_);
  compare_with_promise(report, last);
}

/// Says once if the epoch was slow, and why that may be.
void TrainingSession::compare_with_promise(const EpochReport& report, const Candidate& last) {
  const std::string contention = device_.contention();
  double samples = 0.0, taken = 0.0, promised = 0.0;  // where something was promised
  for (const MappingUse& use : report.mappings) {
    if (!use.promised) continue;
    const auto count = static_cast<double>(use.samples);
    samples += count;
    taken += count * use.microseconds_per_sample;
    promised += count * *use.promised;
  }
  if (!told_slow_ && taken > kSlow * promised && taken > promised + kMoment) {
    told_slow_ = true;
    notice(fmt::format("epoch {} took {:.3g} us per sample, {:.1f} times the {:.3g} that the profile promises: {}",
                       report.epoch, taken / samples, taken / promised, promised / samples,
                       likely_cause(device_, last, contention)));
  } else if (!contention.empty()) {
    notice(contention);
  }
}

std::string TrainingSession::line_about(Ending ending) const {
  const TrainingState& state = model_.training;
  switch (ending) {
    case Ending::target_reached:
      return fmt::format("the train error {:.6g} reached the target after {}", state.history.back().train_error,
                         counted(state.epochs, "epoch"));
    case Ending::no_improvement:
      return fmt::format("no better validation error for {}: the model is that of epoch {}",
                         counted(state.epochs_without_improvement, "epoch"), state.best_epoch);
    default:
      return {};
  }
}

std::string TrainingSession::where_it_stands(const TrainingState& state, std::int64_t rows) {
  return fmt::format("stopped after {} and {} of {} of the next", counted(state.epochs, "epoch"), state.position,
                     counted(rows, "row"));
}

}  // namespace heddle
