#include "heddle/bench/tsk/tsk_run.hpp"

#include <doctest/doctest.h>

#include "heddle/bench/tsk/truck_workload.hpp"
#include "heddle/kernels/tsk/reference.hpp"
#include "heddle/kernels/tsk/train.hpp"
#include "heddle/tuner/verifier.hpp"

namespace heddle::bench {
namespace {

/// Of the truck problem on points x points rows, 100 iterations in three configurations.
void check_truck(int points, double tolerance) {
  constexpr int kIterations = 100, kAtOnce = 50;
  const tsk::Workload work = truck_workload(points, kIterations);
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
    CHECK(found.best_error == doctest::Approx(right.best_error).epsilon(tolerance));
    CHECK(found.recent[0] == doctest::Approx(right.recent[0]).epsilon(tolerance));
  }
}

TEST_CASE("truck: after 100 iterations the error is that of float64 with LAPACK, within 1 % where rows are many") {
  // At 32 points what float32 rounds away has become percents by then.
  check_truck(32, 1e-4);
  check_truck(96, 0.01);
}

TEST_CASE("more rows than are computed in float64: blocks of the emulator, and the CPU") {
  const auto check = [](const char* label, const Problem& problem, const char* configuration) {
    const auto device = open_device(label);
    const KernelFamily& family = tsk::constant_family();
    const SearchSpace space = family.space(device->identity());
    const Verdict verdict = Verifier(*device, family, 1).verify_run(space.parse(configuration), problem, 0, false);
    INFO(std::string(label) << ": " << verdict.message);
    CHECK(verdict.status == Status::correct);
  };
  check("emulator", tsk::problem(2, 1, 1, 8203), "scheme=resident block_size=128 row_sets=2 blocks=2");
  check("cpu", tsk::problem(9, 3, 2, 9001), "storage=recomputed tile_rows=64 side=3 block_size=4 threads=1");
}

}  // namespace
}  // namespace heddle::bench
