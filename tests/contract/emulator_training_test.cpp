// Training from no rule through several rungs of the ladder, as a trainer does it, on every resident scheme.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/random.hpp"
#include "heddle/kernels/sonfin/comparison.hpp"
#include "heddle/kernels/sonfin/reference.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/runtime/device/emulator/emulator_device.hpp"
#include "heddle/runtime/train/sonfin_learner.hpp"

namespace heddle {
namespace {

constexpr std::int64_t kTrained = 200, kDim = 5, kOutputs = 3, kMostRules = 64;

/// Rows that fall on 60 places, each of a class, and want rules of their own until there are as many as may be.
sonfin::Workload growing_workload(std::uint64_t seed) {
  Random random(seed);
  sonfin::Workload work = sonfin::empty_workload(0, kDim, kOutputs, kTrained);
  std::vector<double> places(static_cast<std::size_t>(80 * kDim));
  for (double& place : places) place = random.unit();
  std::vector<std::int64_t> topics;
  for (std::int64_t i = 0; i < kTrained; ++i) {
    const std::int64_t place = random.below(80);
    topics.push_back(place % kOutputs);
    for (std::int64_t j = 0; j < kDim; ++j) {
      work.rows[static_cast<std::size_t>(i * kDim + j)] =
          static_cast<float>(places[static_cast<std::size_t>(place * kDim + j)] + 0.02 * random.symmetric());
    }
  }
  sonfin::fill_outputs(work, topics, random);
  random.shuffle(work.order);
  work.options.first_width = 0.3 * std::sqrt(static_cast<double>(kDim));
  work.options.overlap = 0.4;
  work.options.max_rules = kMostRules;
  return work;
}

/// How near any sample comes to the threshold at which it would or would not add a rule, in units of the log firing.
double narrowest_decision(const sonfin::Workload& work) {
  sonfin::Reference reference(work.network, work.options);
  double narrowest = HUGE_VAL;
  for (const std::int32_t row : work.order) {
    const auto* const x = work.rows.data() + row * kDim;
    const sonfin::Network network = reference.network();
    double largest = -HUGE_VAL;
    for (std::int64_t k = 0; k < reference.rules(); ++k) {
      double sum = 0.0;
      for (std::int64_t j = 0; j < kDim; ++j) {
        const auto kj = static_cast<std::size_t>(k * kDim + j);
        const double z = (x[j] - reference.centres()[kj]) / reference.widths()[kj];
        sum += z * z;
      }
      largest = std::max(largest, -sum);
    }
    if (reference.rules() > 0 && reference.rules() < kMostRules) {
      narrowest = std::min(narrowest, std::abs(largest - std::log(work.options.threshold)));
    }
    reference.learn({x, kDim}, {work.targets.data() + row * kOutputs, kOutputs});
  }
  return narrowest;
}

/// One in which float32 takes the same decisions as float64.
sonfin::Workload decided_workload() {
  for (std::uint64_t seed = 1; seed < 100; ++seed) {
    sonfin::Workload work = growing_workload(seed);
    if (narrowest_decision(work) > 1e-3) return work;
  }
  FAIL("no workload whose decisions are clear");
  return {};
}

TEST_CASE("emulator: 200 samples from no rule through several rungs, on every resident scheme, agree with float64") {
  const sonfin::Workload work = decided_workload();
  const sonfin::Expectation expected = sonfin::expectation(work);
  REQUIRE(expected.rules == kMostRules);
  const LearningRows rows{.dim = kDim, .outputs = kOutputs, .rows = work.rows, .targets = work.targets};
  const auto device = open_emulator();
  const KernelFamily& family = sonfin::train_family();
  const SearchSpace space = family.space(device->identity());
  // Each with another storage of the parameters.
  for (const auto& kind : std::vector<std::pair<std::string, std::string>>{
           {"block", "split"}, {"cluster", "registers"}, {"grid", "shared"}}) {
    const std::string &scheme = kind.first, &storage = kind.second;
    INFO(scheme << " " << storage);
    // One block for all rules of a rung, or one for 16 rules.
    const auto configuration = [&](std::int64_t capacity) {
      const std::string shape =
          scheme == "block" ? "block_size=256 threads_per_rule=8" : "block_size=64 threads_per_rule=4";
      const std::string count = scheme == "block" && capacity > 32 ? "2 coarsening=rules" : "1";
      return space.parse(
          fmt::format("scheme={} coarsen_count={} {} vector=1 storage={}", scheme, count, shape, storage));
    };
    std::vector<Profile> profiles;
    for (const std::int64_t capacity : sonfin::rung_capacities(kMostRules)) {
      const Problem problem = sonfin::problem(capacity, kDim, kOutputs);
      REQUIRE_FALSE(space.violated(configuration(capacity), problem).has_value());
      Profile& profile = profiles.emplace_back();
      profile.key = {.device = device->identity(), .family = std::string(family.name()), .problem = problem};
      profile.kernels.source_hash = family.source("emulator").hash();
      profile.configuration = configuration(capacity).text();
      profile.time = 1.0;
    }
    SonfinLearner learner(*device, profiles, rows, kMostRules, {});
    learner.begin(work.network, sonfin::control(work.options, kTrained), work.order, 0, 0.0);
    while (learner.advance()) {
    }
    CHECK(learner.uses().size() == 3);  // 32, 48 and 64 rules
    for (std::size_t rung = 0; rung < learner.ladder().size(); ++rung) {
      CHECK(learner.ladder()[rung].configuration() == configuration(learner.ladder().capacity(rung)));
    }
    const sonfin::Progress progress{.rules = static_cast<int>(learner.rules()),
                                    .position = static_cast<int>(learner.position()),
                                    .halted = 0,
                                    .reserved = 0,
                                    .loss = learner.loss()};
    CHECK(learner.loss() == doctest::Approx(expected.loss).epsilon(1e-5));
    const double distance = sonfin::distance_of_training(expected, learner.network(), progress);
    MESSAGE(scheme << " " << storage << ": " << distance << " times as far from float64 as rounding explains");
    CHECK(distance < 3.0);
  }
}

}  // namespace
}  // namespace heddle
