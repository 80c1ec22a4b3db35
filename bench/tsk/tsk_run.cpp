#include "heddle/bench/tsk/tsk_run.hpp"

#include <string>

#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/kernels/tsk/train.hpp"
#include "heddle/runtime/device/bytes.hpp"

namespace heddle::bench {

Problem problem_of(const tsk::Workload& work) {
  return tsk::problem(work.system.rules(), work.system.dim, work.system.outputs,
                      static_cast<std::int64_t>(work.control.rows) + work.control.held_back);
}

TskRun::TskRun(Device& device, const Configuration& configuration, const tsk::Workload& work, int at_once,
               const TemplateSource* source)
    : work_(work), at_once_(at_once) {
  const KernelFamily& family = tsk::train_family(work.system.order);
  const Problem problem = problem_of(work);
  const Plan plan = family.plan(configuration, problem, device.identity(), at_once * problem.at("rows"));
  if (source == nullptr) source = &family.source(device.identity().backend);
  const auto binary = compile_one(device, {source, plan.kernels}).binary;
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
  const Stopwatch watch;
  for (int done = 0; done < iterations; done += at_once_) execution_->launch();
  execution_->synchronize();
  return watch.seconds();
}

tsk::Progress TskRun::progress() {
  tsk::Progress progress{};
  execution_->memory("progress").read(std::as_writable_bytes(std::span(&progress, 1)));
  return progress;
}

}  // namespace heddle::bench
