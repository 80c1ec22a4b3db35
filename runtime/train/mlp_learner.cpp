#include "heddle/runtime/train/mlp_learner.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/mlp/rules.hpp"
#include "heddle/kernels/mlp/train.hpp"
#include "heddle/runtime/device/bytes.hpp"
#include "heddle/runtime/train/shuffle.hpp"

namespace heddle {

namespace {

std::int64_t bytes_of_buffer(const Execution& execution, std::string_view name) {
  const Plan& plan = execution.plan();
  return plan.buffers[static_cast<std::size_t>(plan.buffer(name))].bytes;
}

int arrays_of(const mlp::Control& control) {
  return mlp::state_arrays(static_cast<mlp::Rule>(control.rule), control.robust != 0);
}

/// Whether a parameter stays as it is where its gradients are 0: no moment of an earlier session moves it on, and
/// robust training has no other best weight to go back to.
bool rests(const MlpModel::Learning& resumed, const mlp::Control& control, std::size_t parameter) {
  const std::size_t parameters = resumed.parameters.size();
  const int arrays = arrays_of(control);
  if (resumed.state.size() != parameters * at(arrays)) return true;  // another rule's, which this one does not take
  const auto state = [&](int array) { return resumed.state[at(array) * parameters + parameter]; };
  switch (control.rule) {
    case mlp::kAdaptive:
      return state(2) == 0.0F && (arrays <= mlp::kBestArray || resumed.progress.best == mlp::kNoError ||
                                  state(mlp::kBestArray) == resumed.parameters[parameter]);
    case mlp::kAdam:
      return state(0) == 0.0F && state(1) == 0.0F;
    default:
      return true;
  }
}

ActiveInputs active_inputs(const mlp::Layers& layers, const LearningRows& rows, const mlp::Control& control,
                           const MlpModel::Learning* resumed) {
  if (control.decay != 0.0F) return ActiveInputs(layers);  // it takes a part of every weight
  if (resumed == nullptr) return {layers, rows.rows};
  return {layers, rows.rows, [&](std::size_t parameter) { return rests(*resumed, control, parameter); }};
}

}  // namespace

MlpLearner::MlpLearner(Device& device, const Knowledge& known, const LearningRows& rows, const mlp::Layers& layers,
                       const mlp::Control& control, const MlpModel::Learning* resumed, std::uint64_t seed,
                       std::int64_t samples, const Notice& notice, const Stop& stop)
    : device_(device),
      inputs_(active_inputs(layers, rows, control, resumed)),
      control_(control),
      seed_(seed),
      plan_(TunedPlan::choose(
          device, share_dispatcher(device, mlp::train_family(), known),
          mlp::training_problem(inputs_.layers(), control.rows, control.batch, mlp::bits_of(rows.rows)), notice,
          stop)) {
  const std::vector<float> some = inputs_.all() ? std::vector<float>{} : inputs_.of_rows(rows.rows);
  const std::vector<float>& learnt = inputs_.all() ? rows.rows : some;
  // A run of no step changes nothing, but shows whether its kernels can be launched.
  const auto probe = [&](const TunedPlan&, Execution& execution) {
    mlp::Control none = control;
    none.steps = none.end = 0;
    execution.memory("control").write(bytes(none));
    execution.memory("progress").write(bytes(mlp::first_progress()));
    execution.memory("rows").write(bytes(learnt));
    execution.memory("targets").write(bytes(rows.targets));
    for (const char* name : {"parameters", "state", "gradient", "errors", "order"}) {
      execution.memory(name).fill(std::byte{0});
    }
    execution.launch();
    execution.synchronize();
  };
  plan_.prepare({.samples = samples, .bind = {}, .probe = probe});
}

int MlpLearner::state_arrays() const { return arrays_of(control_); }

void MlpLearner::begin(const MlpModel::Learning& from) {
  progress_ = from.progress;
  progress_.halted = mlp::kGoesOn;
  const std::size_t numbers = from.parameters.size();
  const auto state = std::span(from.state).first(numbers * at(state_arrays()));
  resting_parameters_ = inputs_.resting(from.parameters);
  resting_state_ = inputs_.resting(state);
  // A weight that rests is the best one there has been, also before there is a best.
  if (state_arrays() > mlp::kBestArray) {
    std::ranges::copy(resting_parameters_, resting_state_.end() - std::ssize(resting_parameters_));
  }
  Execution& execution = plan_.execution();
  execution.memory("parameters").write(bytes(inputs_.active(from.parameters)));
  execution.memory("state").write(bytes(inputs_.active(state)));
  execution.memory("progress").write(bytes(progress_));
}

void MlpLearner::write_orders() {
  if (control_.shuffled == 0) return;
  Memory& memory = plan_.execution().memory("order");
  const std::int64_t bytes_of_order = static_cast<std::int64_t>(sizeof(std::int32_t)) * control_.rows;
  for (std::int64_t place = 0; control_.first_epoch + place < control_.end; ++place) {
    const auto epoch = static_cast<std::uint64_t>(control_.first_epoch + place + 1);
    memory.write(bytes(permutation(control_.rows, seed_, epoch)), place * bytes_of_order);
  }
}

std::vector<double> MlpLearner::advance(std::int64_t end) {
  Execution& execution = plan_.execution();
  std::vector<double> slots(static_cast<std::size_t>(bytes_of_buffer(execution, "errors")) / sizeof(double));
  // There are places for the orders and errors of so many epochs. A run that begins within an epoch could go on beyond
  // them.
  control_.end = static_cast<int>(std::min(end, progress_.epoch + static_cast<std::int64_t>(slots.size())));
  control_.first_epoch = progress_.epoch;
  write_orders();
  execution.memory("control").write(bytes(control_));
  const mlp::Progress before = progress_;
  execution.launch();
  execution.synchronize();
  execution.memory("progress").read(std::as_writable_bytes(std::span(&progress_, 1)));
  if (progress_.halted == mlp::kLostBlock) throw lost_block(device_.label());
  if (progress_.steps == before.steps && progress_.halted == mlp::kGoesOn) {
    throw Error(ErrorKind::bug, "a training kernel neither learns nor says why");
  }
  execution.memory("errors").read(std::as_writable_bytes(std::span(slots)));
  std::vector<double> errors;
  errors.reserve(static_cast<std::size_t>(progress_.epoch - before.epoch));
  for (int epoch = before.epoch; epoch < progress_.epoch; ++epoch) {
    errors.push_back(slots[static_cast<std::size_t>(epoch) % slots.size()]);
  }
  return errors;
}

std::vector<float> MlpLearner::parameters() {
  return inputs_.together(floats_of("parameters", 1), resting_parameters_);
}

MlpModel::Learning MlpLearner::learning() {
  MlpModel::Learning now{.parameters = parameters(),
                         .state = inputs_.together(floats_of("state", state_arrays()), resting_state_),
                         .progress = progress_};
  now.progress.halted = mlp::kGoesOn;
  return now;
}

std::vector<float> MlpLearner::floats_of(const char* buffer, int arrays) {
  std::vector<float> values(at(arrays * inputs_.layers().parameters()));
  if (arrays > 0) plan_.execution().memory(buffer).read(std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace heddle
