#include "heddle/runtime/train/mlp_learner.hpp"

#include <algorithm>
#include <span>
#include <string_view>

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

}  // namespace

MlpLearner::MlpLearner(Device& device, const Knowledge& known, const LearningRows& rows, const mlp::Layers& layers,
                       const mlp::Control& control, std::uint64_t seed, std::int64_t samples, const Notice& notice,
                       const Stop& stop)
    : device_(device),
      parameters_(layers.parameters()),
      control_(control),
      seed_(seed),
      plan_(TunedPlan::choose(device, share_dispatcher(device, mlp::train_family(), known),
                              mlp::training_problem(layers, control.rows, control.batch, mlp::bits_of(rows.rows)),
                              notice, stop)) {
  // A run of no step changes nothing, but shows whether its kernels can be launched.
  const auto probe = [&](const TunedPlan&, Execution& execution) {
    mlp::Control none = control;
    none.steps = none.end = 0;
    execution.memory("control").write(bytes(none));
    execution.memory("progress").write(bytes(mlp::first_progress()));
    execution.memory("rows").write(bytes(rows.rows));
    execution.memory("targets").write(bytes(rows.targets));
    for (const char* name : {"parameters", "state", "gradient", "errors", "order"}) {
      execution.memory(name).fill(std::byte{0});
    }
    execution.launch();
    execution.synchronize();
  };
  plan_.prepare({.samples = samples, .bind = {}, .probe = probe});
}

void MlpLearner::begin(const MlpModel::Learning& from) {
  progress_ = from.progress;
  progress_.halted = mlp::kGoesOn;
  Execution& execution = plan_.execution();
  execution.memory("parameters").write(bytes(from.parameters));
  execution.memory("state").write(bytes(from.state));
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
  std::vector<float> values(static_cast<std::size_t>(parameters_));
  plan_.execution().memory("parameters").read(std::as_writable_bytes(std::span(values)));
  return values;
}

MlpModel::Learning MlpLearner::learning() {
  MlpModel::Learning now{.parameters = parameters(), .state = {}, .progress = progress_};
  const int arrays = mlp::state_arrays(static_cast<mlp::Rule>(control_.rule), control_.robust != 0);
  now.state.resize(static_cast<std::size_t>(arrays * parameters_));
  if (arrays > 0) plan_.execution().memory("state").read(std::as_writable_bytes(std::span(now.state)));
  now.progress.halted = mlp::kGoesOn;
  return now;
}

}  // namespace heddle
