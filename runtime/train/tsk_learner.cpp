#include "heddle/runtime/train/tsk_learner.hpp"

#include <span>

#include "heddle/kernels/tsk/train.hpp"
#include "heddle/runtime/device/bytes.hpp"

namespace heddle {

TskLearner::TskLearner(Device& device, const Knowledge& known, const LearningRows& rows, const tsk::System& system,
                       const tsk::Control& control, std::int64_t iterations, const Notice& notice, const Stop& stop)
    : device_(device),
      like_(system),
      control_(control),
      plan_(TunedPlan::choose(device, share_dispatcher(device, tsk::train_family(system.order), known),
                              tsk::problem(system.rules(), rows.dim, rows.outputs, rows.count()), notice, stop)) {
  // With nothing to learn a run changes nothing, but shows whether its kernels can be launched.
  const auto probe = [&](const TunedPlan&, Execution& execution) {
    tsk::Control none = control;
    none.end = 0;
    execution.memory("control").write(bytes(none));
    execution.memory("progress").write(bytes(tsk::first_progress(0.0)));
    execution.memory("rows").write(bytes(rows.rows));
    execution.memory("targets").write(bytes(rows.targets));
    execution.memory("centres").write(bytes(system.centres));
    execution.memory("widths").write(bytes(system.widths));
    execution.memory("low_parts").fill(std::byte{0});
    execution.launch();
    execution.synchronize();
  };
  plan_.prepare({.samples = iterations * rows.count(), .bind = {}, .probe = probe});
}

void TskLearner::begin(tsk::System system, const std::vector<double>& antecedents, const tsk::System& best,
                       const tsk::Progress& progress) {
  progress_ = progress;
  const std::size_t tasks = system.centres.size();
  std::vector<float> low_parts(2 * tasks, 0.0F);
  for (std::size_t i = 0; i < antecedents.size(); ++i) {
    float& value = i < tasks ? system.centres[i] : system.widths[i - tasks];
    value = static_cast<float>(antecedents[i]);
    low_parts[i] = static_cast<float>(antecedents[i] - static_cast<double>(value));
  }
  plan_.execution().memory("centres").write(bytes(system.centres));
  plan_.execution().memory("widths").write(bytes(system.widths));
  plan_.execution().memory("consequents").write(bytes(system.consequents));
  plan_.execution().memory("low_parts").write(bytes(low_parts));
  plan_.execution().memory("best_centres").write(bytes(best.centres));
  plan_.execution().memory("best_widths").write(bytes(best.widths));
  plan_.execution().memory("best_consequents").write(bytes(best.consequents));
  plan_.execution().memory("progress").write(bytes(progress_));
}

std::vector<TskLearner::Errors> TskLearner::advance(std::int64_t end) {
  if (control_.end != end) {
    control_.end = static_cast<int>(end);
    plan_.execution().memory("control").write(bytes(control_));
  }
  const int before = progress_.iteration;
  plan_.execution().launch();
  plan_.execution().synchronize();
  plan_.execution().memory("progress").read(std::as_writable_bytes(std::span(&progress_, 1)));
  if (progress_.halted == tsk::kLostBlock) throw lost_block(device_.label());
  Memory& memory = plan_.execution().memory("errors");
  const auto& plan = plan_.execution().plan();
  std::vector<double> slots(
      static_cast<std::size_t>(plan.buffers[static_cast<std::size_t>(plan.buffer("errors"))].bytes) / sizeof(double));
  memory.read(std::as_writable_bytes(std::span(slots)));
  std::vector<Errors> errors;
  for (int i = before; i < progress_.iteration; ++i) {
    const std::size_t slot = 2 * (static_cast<std::size_t>(i) % (slots.size() / 2));
    errors.push_back({.learnt = slots[slot], .held_back = slots[slot + 1]});
  }
  if (errors.empty() && progress_.halted == tsk::kGoesOn) {
    throw Error(ErrorKind::bug, "a training kernel neither learns nor says why");
  }
  return errors;
}

std::vector<double> TskLearner::antecedents() {
  const tsk::System now = system();
  std::vector<double> all(now.centres.begin(), now.centres.end());
  all.insert(all.end(), now.widths.begin(), now.widths.end());
  std::vector<float> low_parts(all.size());
  plan_.execution().memory("low_parts").read(std::as_writable_bytes(std::span(low_parts)));
  for (std::size_t i = 0; i < all.size(); ++i) {
    // A float32 kernel does not write the low parts: they may be left over from an earlier run.
    const double whole = all[i] + static_cast<double>(low_parts[i]);
    if (static_cast<double>(static_cast<float>(whole)) == all[i]) all[i] = whole;
  }
  return all;
}

tsk::System TskLearner::read(const char* centres, const char* widths, const char* consequents) {
  tsk::System system = like_;
  const auto fetch = [&](const char* name, std::vector<float>& values) {
    plan_.execution().memory(name).read(std::as_writable_bytes(std::span(values)));
  };
  system.consequents.resize(static_cast<std::size_t>(system.unknowns() * system.outputs));
  fetch(centres, system.centres);
  fetch(widths, system.widths);
  fetch(consequents, system.consequents);
  return system;
}

}  // namespace heddle
