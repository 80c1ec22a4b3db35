#include "heddle/bench/runs/host_decided.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "heddle/kernels/sonfin/reference.hpp"

namespace heddle::bench {
namespace {

/// Rows in [0, 1), with targets that follow from them.
LearningRows rows_of(std::int64_t count, std::int64_t dim, std::int64_t outputs) {
  LearningRows rows{.dim = dim, .outputs = outputs, .rows = {}, .targets = {}};
  std::mt19937 random(7);
  for (std::int64_t i = 0; i < count * dim; ++i) rows.rows.push_back(static_cast<float>(random() >> 8) * 0x1p-24F);
  for (std::int64_t i = 0; i < count * outputs; ++i) {
    rows.targets.push_back(rows.rows[static_cast<std::size_t>(i / outputs * dim + i % outputs)] - 0.5F);
  }
  return rows;
}

TEST_CASE("decisions on the host give the network of the reference, past the capacity of a first plan") {
  constexpr std::int64_t kRows = 60, kDim = 5, kOutputs = 3;
  const LearningRows rows = rows_of(kRows, kDim, kOutputs);
  sonfin::Hyperparameters options;
  options.first_width = 0.6;
  for (const std::int64_t cap : {20, 35}) {
    CAPTURE(cap);
    options.max_rules = cap;
    sonfin::Reference reference(kDim, kOutputs, options);
    double loss = 0.0;
    for (std::int64_t i = 0; i < kRows; ++i) {
      loss += reference
                  .learn(std::span(rows.rows).subspan(static_cast<std::size_t>(i * kDim), kDim),
                         std::span(rows.targets).subspan(static_cast<std::size_t>(i * kOutputs), kOutputs))
                  .loss;
    }
    REQUIRE(reference.rules() == cap);  // or the test would not get to the cap, and to the second plan

    const auto device = open_device("emulator");
    HostDecidedLearner learner(*device, rows, cap,
                               [&](const Problem& problem) { return gpu_fnn(device->identity(), problem); });
    std::vector<std::int32_t> order(kRows);
    std::iota(order.begin(), order.end(), 0);
    const sonfin::Network empty{.dim = kDim, .outputs = kOutputs, .centres = {}, .widths = {}, .consequents = {}};
    learner.learn(empty, sonfin::control(options, kRows), order);
    CHECK(learner.rules() == cap);
    CHECK(learner.loss() == doctest::Approx(loss).epsilon(1e-4));
    const sonfin::Network network = learner.network(), expected = reference.network();
    REQUIRE(network.centres.size() == expected.centres.size());
    const auto close = [](const std::vector<float>& ours, const std::vector<float>& theirs) {
      double worst = 0.0;
      for (std::size_t i = 0; i < ours.size(); ++i) {
        worst = std::max(worst, static_cast<double>(std::abs(ours[i] - theirs[i])));
      }
      return worst;
    };
    CHECK(close(network.centres, expected.centres) < 1e-4);
    CHECK(close(network.widths, expected.widths) < 1e-4);
    CHECK(close(network.consequents, expected.consequents) < 1e-4);
  }
}

}  // namespace
}  // namespace heddle::bench
