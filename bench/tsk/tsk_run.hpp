// Batch least squares and gradient in one configuration, on data of the caller's: what the programs here time.
#pragma once

#include <memory>

#include "heddle/kernels/search_space.hpp"
#include "heddle/kernels/tsk/system.hpp"
#include "heddle/kernels/tsk/workload.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle::bench {

[[nodiscard]] Problem problem_of(const tsk::Workload& work);

class TskRun {
 public:
  /// Throws DeviceFailure. `at_once`: iterations of a run of the plan. `source`: the family's if it is null. `work`
  /// must outlive this.
  TskRun(Device& device, const Configuration& configuration, const tsk::Workload& work, int at_once,
         const TemplateSource* source = nullptr);

  /// Seconds for `iterations`, a multiple of those at once, from the start: parameters and progress are written outside
  /// the clock.
  double time(int iterations);
  [[nodiscard]] tsk::Progress progress();

 private:
  const tsk::Workload& work_;
  int at_once_;
  std::unique_ptr<Execution> execution_;
};

}  // namespace heddle::bench
