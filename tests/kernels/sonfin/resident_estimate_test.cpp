#include "heddle/kernels/sonfin/cuda/resident_estimate.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "heddle/kernels/sonfin/train.hpp"

using namespace heddle;
using namespace heddle::sonfin;

namespace {

const DeviceIdentity kCard{.backend = "cuda",
                           .name = "card",
                           .architecture = "9.0",
                           .units = 132,
                           .memory_gib = 140,
                           .cache_bytes = 50 << 20,
                           .local_bytes = 227 << 10};

double estimate(const std::string& configuration, const Problem& sizes) {
  const KernelFamily& family = train_family();
  return family.estimate(family.space(kCard).parse(configuration), kCard)(sizes);
}

}  // namespace

TEST_CASE("there is an estimate for resident schemes alone, and it is a time") {
  const KernelFamily& family = train_family();
  for (const Problem& sizes :
       {problem(33, 17, 3), problem(640, 16, 10), problem(1020, 201, 21), problem(700, 999, 1)}) {
    CAPTURE(sizes.text());
    for (const Configuration& configuration : family.space(kCard).enumerate(sizes)) {
      CAPTURE(configuration.text());
      const KernelFamily::Estimate estimate = family.estimate(configuration, kCard);
      REQUIRE(static_cast<bool>(estimate) == is_resident(configuration));
      if (!estimate) continue;
      CHECK(estimate(sizes) > 0.2);
      CHECK(estimate(sizes) < 30.0);
    }
  }
  DeviceIdentity cpu = kCard;
  cpu.backend = "cpu";
  CHECK(!family.estimate(family.default_configuration(cpu, problem(64, 16, 1)), cpu));
}

TEST_CASE("what a space lists but allows nowhere has no estimate, the rest has one where it is not allowed, too") {
  const KernelFamily& family = train_family();
  const SearchSpace space = family.space(kCard);
  for (const char* lanes : {"64", "1024"}) {
    const Configuration wide = space.parse(std::string("scheme=grid coarsen_count=1 block_size=32 threads_per_rule=") +
                                           lanes + " vector=4 storage=registers");
    CHECK(!family.estimate(wide, kCard));
  }
  const double large =
      estimate("scheme=block coarsen_count=1 block_size=64 threads_per_rule=32 vector=1 storage=registers",
               problem(4096, 4000, 300));
  CHECK(std::isfinite(large));
  CHECK(large > 0.2);
}

TEST_CASE("what a step has more of takes longer") {
  const std::string cluster = "scheme=cluster coarsen_count=1 block_size=128 threads_per_rule=8 vector=4 ";
  const Problem sizes = problem(200, 60, 10);
  const double usual = estimate(cluster + "storage=registers", sizes);
  CHECK(usual < estimate(cluster + "storage=registers", sizes.with("dim", 200)));
  CHECK(usual < estimate(cluster + "storage=registers", sizes.with("outputs", 26)));
  CHECK(usual < estimate(cluster + "storage=shared", sizes));
  // 72 tasks a thread spill, 64 do not.
  const std::string three =
      "scheme=cluster coarsen_count=3 coarsening=rules block_size=128 threads_per_rule=8 vector=4 ";
  const double fits = estimate(three + "storage=registers", problem(360, 160, 16));
  const double spills = estimate(three + "storage=registers", problem(360, 192, 16));
  CHECK(spills > 1.1 * fits);
  // A packet more for every block.
  const std::string grid = "scheme=grid coarsen_count=1 block_size=256 threads_per_rule=32 vector=4 storage=registers";
  CHECK(estimate(grid, problem(1024, 256, 24)) < estimate(grid, problem(1024, 256, 26)));
}

TEST_CASE("a step does everything that is counted at least no times, and something of each somewhere") {
  const KernelFamily& family = train_family();
  const SearchSpace space = family.space(kCard);
  std::map<ResidentShape::Link, std::set<std::string_view>> seen;
  for (const Problem& sizes : {problem(700, 200, 26), problem(64, 16, 5), problem(300, 80, 10)}) {
    for (const Configuration& configuration : space.enumerate(sizes)) {
      if (!is_resident(configuration)) continue;
      const ResidentShape shape(configuration, sizes);
      const ResidentStep step(shape);
      for (const ResidentTerm& term : resident_terms(shape.link)) {
        REQUIRE(term.count(step) >= 0.0);
        if (term.count(step) > 0.0) seen[shape.link].insert(term.name);
      }
    }
  }
  for (const auto link : {ResidentShape::Link::block, ResidentShape::Link::cluster, ResidentShape::Link::grid}) {
    for (const ResidentTerm& term : resident_terms(link)) CHECK_MESSAGE(seen[link].contains(term.name), term.name);
  }
}
