#include "tsk_run.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "heddle/kernels/tsk/train.hpp"
#include "heddle/runtime/data/scaling.hpp"
#include "heddle/runtime/device/bytes.hpp"
#include "heddle/runtime/train/tsk_start.hpp"
#include "truck.hpp"

namespace heddle::bench {

tsk::Workload truck_workload(int points, int iterations) {
  std::vector<float> rows, targets;
  for (int i = 0; i < points; ++i) {
    for (int j = 0; j < points; ++j) {
      const double x = 100.0 * i / (points - 1), phi = -90.0 + 360.0 * j / (points - 1);
      rows.push_back(static_cast<float>(x));
      rows.push_back(static_cast<float>(phi));
      targets.push_back(static_cast<float>(truck_steering(x, phi)));
    }
  }
  tsk::Workload work;
  work.rows = fit_scaling(Scale::minmax, rows, 2).apply(rows);
  work.targets = fit_scaling(Scale::zscore, targets, 1).apply(targets);
  work.system = grid_of_sets(work.rows, {5, 7}, 100);
  work.system.outputs = 1;
  work.system.consequents.assign(35, 0.0F);
  work.progress = tsk::first_progress(0.02);
  const int count = points * points;
  work.control = {.all = {.rules = 35, .rows = count},
                  .rows = count,
                  .held_back = 0,
                  .end = iterations,
                  .patience = 0,
                  .plain_step = 0,
                  .rate = 0.0F,
                  .minimum_width = 0.01F,
                  .ridge = 0.0F,
                  .target_error = 0.0F};
  return work;
}

Problem problem_of(const tsk::Workload& work) {
  return tsk::problem(work.system.rules(), work.system.dim, work.system.outputs,
                      static_cast<std::int64_t>(work.control.rows) + work.control.held_back);
}

TskRun::TskRun(Device& device, const Configuration& configuration, const tsk::Workload& work, int at_once)
    : work_(work), at_once_(at_once) {
  const KernelFamily& family = tsk::train_family(work.system.order);
  const Problem problem = problem_of(work);
  const Plan plan = family.plan(configuration, problem, device.identity(), at_once * problem.at("rows"));
  const auto binary = compile_one(device, {&family.source(device.identity().backend), plan.kernels}).binary;
  execution_ = device.prepare(plan, binary);
  execution_->memory("rows").write(bytes(work.rows));
  execution_->memory("targets").write(bytes(work.targets));
  execution_->memory("control").write(bytes(work.control));
}

double TskRun::time(int iterations) {
  for (const char* prefix : {"", "best_"}) {
    execution_->memory(std::string(prefix) + "centres").write(bytes(work_.system.centres));
    execution_->memory(std::string(prefix) + "widths").write(bytes(work_.system.widths));
    execution_->memory(std::string(prefix) + "consequents").write(bytes(work_.system.consequents));
  }
  execution_->memory("low_parts").fill(std::byte{0});
  execution_->memory("progress").write(bytes(work_.progress));
  execution_->synchronize();
  const auto start = std::chrono::steady_clock::now();
  for (int done = 0; done < iterations; done += at_once_) execution_->launch();
  execution_->synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

tsk::Progress TskRun::progress() {
  tsk::Progress progress{};
  execution_->memory("progress").read(std::as_writable_bytes(std::span(&progress, 1)));
  return progress;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace heddle::bench
