#include "heddle/runtime/train/sonfin_learner.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/runtime/device/bytes.hpp"

namespace heddle {

namespace {

/// Samples of one run: long enough that submitting and reading back do not count, short enough to stop soon. Where
/// networks are so large that fewer take a second, fewer: a core goes through about kNumbers parameters in that time.
/// The number depends on sizes alone, since sums of losses are rounded anew with every run.
constexpr std::int64_t kMostSamples = 1024;
constexpr std::int64_t kNumbers = 1'000'000'000;
std::int64_t samples_of_run(const Problem& problem, const DeviceIdentity& device) {
  const std::int64_t numbers = problem.at("rules") * (2 * problem.at("dim") + problem.at("outputs"));
  return std::clamp(kNumbers * std::max<std::int64_t>(device.units, 1) / numbers, std::int64_t{1}, kMostSamples);
}
/// Runs are submitted ahead until reading the progress back happens about this often.
constexpr double kSecondsAhead = 0.02;
constexpr int kMostRunsAhead = 64;

}  // namespace

SonfinLearner::SonfinLearner(Device& device, const Knowledge& known, const LearningRows& rows, std::int64_t max_rules,
                             const Notice& notice, const Stop& stop)
    : device_(device),
      rows_(rows),
      ladder_(device, share_dispatcher(device, sonfin::train_family(), known),
              sonfin::problem(max_rules, rows.dim, rows.outputs), "rules", sonfin::rung_capacities(max_rules), notice,
              stop) {
  // With nothing to learn a run changes nothing, but shows whether its kernels can be launched.
  const auto probe = [](const TunedPlan&, Execution& execution) {
    execution.memory("control").write(bytes(sonfin::control({}, 0)));
    execution.memory("progress").write(bytes(sonfin::Progress{}));
    execution.launch();
    execution.synchronize();
  };
  // From the largest down: what the rungs share is then allocated once.
  for (std::size_t i = ladder_.size(); i-- > 0;) {
    ladder_[i].prepare({.samples = samples_of_run(ladder_[i].problem(), device.identity()),
                        .bind = [this](const TunedPlan& rung, const Plan& plan) { return bind(rung, plan); },
                        .probe = probe});
  }
  std::vector<SonfinParameters::Rung> rungs;
  rungs.reserve(ladder_.size());
  for (std::size_t i = 0; i < ladder_.size(); ++i) rungs.push_back({&ladder_[i].execution(), layout(ladder_[i])});
  parameters_ = SonfinParameters(std::move(rungs));
}

sonfin::Layout SonfinLearner::layout(const TunedPlan& rung) const {
  return sonfin::train_layout(rung.configuration(), rung.problem(), device_.identity());
}

/// One rung is in use at a time: all rungs can share everything but scratch.
Bindings SonfinLearner::bind(const TunedPlan& rung, const Plan& plan) {
  const sonfin::Layout where = layout(rung);
  Bindings bindings;
  const auto share = [&](const std::string& buffer, const std::string& key, std::int64_t at_least) {
    const std::int64_t needed = std::max(at_least, plan.buffers[static_cast<std::size_t>(plan.buffer(buffer))].bytes);
    std::shared_ptr<Memory>& memory = shared_[key];
    const bool fresh = !memory || memory->bytes() < needed;
    if (fresh) {
      memory = device_.allocate(needed);
      memory->fill(std::byte{0});
    }
    bindings[buffer] = memory;
    return fresh;
  };
  for (const char* buffer : {"centres", "widths", "consequents", "progress", "control"}) share(buffer, buffer, 0);
  share("order", "order", rows_.count() * static_cast<std::int64_t>(sizeof(std::int32_t)));
  const auto share_rows = [&](const std::string& buffer, const std::vector<float>& values, std::int64_t width,
                              std::int64_t stride) {
    const std::int64_t size = rows_.count() * stride * static_cast<std::int64_t>(sizeof(float));
    if (share(buffer, buffer + " " + std::to_string(stride), size)) {
      bindings[buffer]->write(sonfin::pack_rows(values.data(), rows_.count(), width, stride));
    }
  };
  share_rows("rows", rows_.rows, rows_.dim, where.stride);
  share_rows("targets", rows_.targets, rows_.outputs, where.target_stride);
  return bindings;
}

void SonfinLearner::begin(const sonfin::Network& network, const sonfin::Control& control,
                          std::vector<std::int32_t> order, std::int64_t position, double loss) {
  start(control, std::move(order),
        {.rules = static_cast<int>(network.rules()),
         .position = static_cast<int>(position),
         .halted = 0,
         .reserved = 0,
         .loss = loss});
  const std::size_t rung = ladder_.at(network.rules());
  parameters_.write(rung, network);
  enter(rung);
}

void SonfinLearner::begin_again(const sonfin::Control& control, std::vector<std::int32_t> order) {
  start(control, std::move(order), {.rules = progress_.rules, .position = 0, .halted = 0, .reserved = 0, .loss = 0.0});
  enter(rung_);
}

void SonfinLearner::start(const sonfin::Control& control, std::vector<std::int32_t> order,
                          const sonfin::Progress& progress) {
  control_ = control;
  order_ = std::move(order);
  progress_ = progress;
  uses_.clear();
  seconds_ = 0.0;
}

void SonfinLearner::enter(std::size_t rung) {
  rung_ = rung;
  Execution& execution = ladder_[rung].execution();
  execution.memory("control").write(bytes(control_));
  execution.memory("order").write(std::as_bytes(std::span(order_)));
  progress_.halted = 0;
  execution.memory("progress").write(bytes(progress_));
  uses_.push_back({.rung = rung});
}

bool SonfinLearner::advance() {
  const auto start = std::chrono::steady_clock::now();
  launch_some();
  if (progress_.halted == sonfin::kLostBlock) throw lost_block(device_.label());
  if (progress_.halted != 0) {
    const std::size_t next = std::max(rung_ + 1, ladder_.at(progress_.rules + 1));
    if (next >= ladder_.size()) throw Error(ErrorKind::bug, "a kernel wants more rules than the cap allows");
    parameters_.move(rung_, next, progress_.rules);
    enter(next);
    runs_ahead_ = 1;
  }
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return progress_.position < control_.end;
}

void SonfinLearner::launch_some() {
  const auto start = std::chrono::steady_clock::now();
  Execution& execution = ladder_[rung_].execution();
  const std::int64_t samples = execution.plan().samples;
  const std::int64_t left = (control_.end - progress_.position + samples - 1) / samples;
  // Runs after a halt or the end change nothing, so several can be under way before the progress is known.
  for (std::int64_t run = std::min<std::int64_t>(left, runs_ahead_); run > 0; --run) execution.launch();
  const int before = progress_.position;
  execution.synchronize();
  execution.memory("progress").read(std::as_writable_bytes(std::span(&progress_, 1)));
  if (progress_.position == before && progress_.halted == 0) {
    throw Error(ErrorKind::bug, "a training kernel neither learns nor says why");
  }
  parameters_.learnt(progress_.rules);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  uses_.back().samples += progress_.position - before;
  uses_.back().seconds += seconds;
  if (seconds < kSecondsAhead) runs_ahead_ = std::min(2 * runs_ahead_, kMostRunsAhead);
  if (seconds > 2.0 * kSecondsAhead) runs_ahead_ = std::max(runs_ahead_ / 2, 1);
}

sonfin::Network SonfinLearner::network() const {
  sonfin::Network network;
  fetch(network);
  return network;
}

}  // namespace heddle
