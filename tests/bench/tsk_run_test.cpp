#include "heddle/bench/tsk_run.hpp"

#include <doctest/doctest.h>

#include "heddle/kernels/tsk/reference.hpp"
#include "heddle/kernels/tsk/train.hpp"

namespace heddle::bench {
namespace {

TEST_CASE("truck: after 100 iterations the error is within 1 % of that of float64 with LAPACK") {
  constexpr int kIterations = 100, kAtOnce = 50;
  const tsk::Workload work = truck_workload(33, kIterations);
  tsk::Reference reference(work.system);
  tsk::Progress right = work.progress;
  for (int i = 0; i < kIterations; ++i) reference.iterate({work.rows, work.targets}, work.control, right);
  REQUIRE(right.iteration == kIterations);

  const auto device = open_device("cpu");
  const KernelFamily& family = tsk::constant_family();
  std::vector<Configuration> configurations = family.space(device->identity()).enumerate(problem_of(work));
  for (const std::size_t which : {std::size_t{0}, configurations.size() / 2, configurations.size() - 1}) {
    INFO(configurations[which].text());
    TskRun run(*device, configurations[which], work, kAtOnce);
    CHECK(run.time(kIterations) > 0.0);
    const tsk::Progress found = run.progress();
    CHECK(found.iteration == kIterations);
    CHECK(found.best_error == doctest::Approx(right.best_error).epsilon(0.01));
    CHECK(found.recent[0] == doctest::Approx(right.recent[0]).epsilon(0.01));
  }
}

}  // namespace
}  // namespace heddle::bench
