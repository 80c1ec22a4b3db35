#include "contract/device_reference.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/sonfin/device_reference.hpp"
#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/verification_workload.hpp"
#include "heddle/tuner/verifier.hpp"

namespace heddle {
namespace {

/// The largest difference, relative to the largest value.
double difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0.0, size = 1e-300;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::isnan(a[i] - b[i]) ? HUGE_VAL : std::abs(a[i] - b[i]));
    size = std::max(size, std::abs(a[i]));
  }
  return largest / size;
}

void compare(const RunOnDevice& run, const sonfin::Workload& work, std::int64_t samples) {
  constexpr double kRoundingOfSums = 1e-10;
  const sonfin::Expectation host = sonfin::expectation(work, samples);
  const sonfin::Expectation device = sonfin::expectation_on_device(run, work, samples);
  CHECK(device.rules == host.rules);
  CHECK(device.samples == samples);
  CHECK(difference({host.loss}, {device.loss}) < kRoundingOfSums);
  CHECK(device.before.centres == host.before.centres);
  CHECK(device.before.widths == host.before.widths);
  CHECK(device.before.consequents == host.before.consequents);
  CHECK(difference(host.centres, device.centres) < kRoundingOfSums);
  CHECK(difference(host.widths, device.widths) < kRoundingOfSums);
  CHECK(difference(host.consequents, device.consequents) < kRoundingOfSums);
}

}  // namespace

void check_device_reference(Device& device, int rules, int dim, int outputs) {
  const RunOnDevice run = run_on(device);
  CHECK(sonfin::References(run).device_agrees());
  for (const auto& shape : {std::array{1, 1, 1}, {3, 2, outputs}, {rules, dim, 3}}) {
    const int r = shape[0], d = shape[1], l = shape[2];
    INFO(device.label() << ": " << r << " rules " << d << " inputs " << l << " outputs");
    const Problem problem = sonfin::problem(r, d, l);
    const auto& sets = sonfin::option_sets();
    for (std::size_t i = 0; i < sets.size(); i += r == rules ? sets.size() - 1 : 1) {
      INFO(sets[i].text());
      compare(run, sonfin::verification_workload(problem, sets[i], r + 1, 44, 5), 44);
    }
    // Plans of 64 samples: several, and one that ends in between.
    compare(run, sonfin::timing_workload(problem, 100, 6), 87);
    const sonfin::Workload work = sonfin::timing_workload(problem, 37, 7);
    CHECK(difference(sonfin::predictions(work.network, work.rows),
                     sonfin::predictions_on_device(run, work.network, work.rows)) < 1e-12);
  }
}

void check_timed_runs(Device& device, const std::vector<std::string_view>& families,
                      const std::vector<Problem>& problems, std::int64_t samples) {
  constexpr std::size_t kDrawn = 6;
  const std::int64_t compared = std::min<std::int64_t>(samples, 1024);
  std::mt19937 random(1);
  for (const std::string_view name : families) {
    const KernelFamily& one = builtin_families().at(name);
    const SearchSpace space = one.space(device.identity());
    Verifier verifier(device, one, 1);
    for (const Problem& problem : problems) {
      const Configuration untuned = one.default_configuration(device.identity(), problem);
      std::vector<Configuration> all = space.enumerate(problem), some{untuned};
      std::shuffle(all.begin(), all.end(), random);
      some.insert(some.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(kDrawn, all.size())));
      double nearest = HUGE_VAL, farthest = 0.0;
      for (const Configuration& configuration : some) {
        INFO(device.label() << ": " << name << ", " << problem.text() << ": " << configuration.text());
        const Verdict verdict = verifier.verify_timed_run(configuration, problem, samples, untuned);
        if (verdict.status == Status::launch) continue;  // blocks for which this GPU has no room
        CHECK_MESSAGE(verdict.status == Status::correct, verdict.message);
        std::int64_t end = compared;
        auto distance = verifier.rounding_distance(configuration, problem, samples, end);
        while (!distance && end > 1) distance = verifier.rounding_distance(configuration, problem, samples, end /= 2);
        if (!distance) distance = verifier.rounding_distance(configuration, problem, samples, samples);
        REQUIRE(distance.has_value());
        nearest = std::min(nearest, *distance);
        farthest = std::max(farthest, *distance);
      }
      MESSAGE(device.label() << ": " << std::string(name) << ", " << problem.text() << ": "
                             << "up to " << compared << " samples end " << nearest << " to " << farthest
                             << " times as far from float64 as rounding explains");
    }
  }
}

}  // namespace heddle
