#include "heddle/kernels/mlp/comparison.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "heddle/kernels/mlp/network.hpp"
#include "heddle/kernels/mlp/rules.hpp"
#include "kernels/mlp/plain_float.hpp"
#include "sample.hpp"

namespace heddle::mlp {
namespace {

/// Networks whose rounding is hard to foresee: narrow and deep, few inputs, one output, steps of one row.
std::vector<Problem> small_problems() {
  std::vector<Problem> problems;
  for (const std::int64_t batch : {1, 3, 37}) {
    problems.push_back(training_problem(layers(13, std::vector<std::int64_t>{17, 5, 1, 1, 1, 1, 1, 1}, 3), 37, batch));
    problems.push_back(training_problem(layers(1, std::vector<std::int64_t>{1, 1}, 1), 37, batch));
    problems.push_back(training_problem(layers(13, std::vector<std::int64_t>{17, 5}, 3), 37, batch));
    problems.push_back(training_problem(layers(2, std::vector<std::int64_t>{}, 1), 37, batch));
    problems.push_back(training_problem(layers(4, std::vector<std::int64_t>{3}, 1), 37, batch));
  }
  return problems;
}

Moment first_moment(const Workload& work) {
  return {.parameters = work.parameters,
          .state = work.state,
          .gradient = std::vector<float>(work.parameters.size()),
          .progress = work.progress,
          .errors = std::vector<double>(kVerifiedSteps + 1)};
}

void check_plain(const Workload& work) {
  constexpr int kAny = std::numeric_limits<int>::max();
  Moment now = first_moment(work);
  for (int step = 0; step < kVerifiedSteps && goes_on(work.control, now.progress, 0, kAny); ++step) {
    CAPTURE(step);
    const Moment next = step_plain(work, now);
    const Accuracy accuracy = compare_step(work, now, next);
    CHECK_MESSAGE(accuracy.accepted, accuracy.message);
    now = next;
  }
}

/// Every option set of each problem, with some seeds.
void check_plain(const std::vector<Problem>& problems) {
  const std::uint64_t start = test::sample_seed();
  for (const Problem& problem : problems) {
    for (const OptionSet& set : option_sets(problem.at("batch") < problem.at("rows"), problem.at("batch") == 1)) {
      for (std::uint64_t seed = start; seed < start + 20; ++seed) {
        CAPTURE(problem.text());
        CAPTURE(set.text());
        CAPTURE(seed);
        check_plain(verification_workload(problem, set, seed));
      }
    }
  }
}

TEST_CASE("a verification accepts plain float32, whatever the seed") { check_plain(small_problems()); }

TEST_CASE("also of a single row, which a step may take to its target") {
  check_plain({training_problem(layers(10, std::vector<std::int64_t>{40}, 3), 1, 1),
               training_problem(layers(30, std::vector<std::int64_t>{}, 5), 1, 1)});
}

TEST_CASE("also where the deltas that slopes let through have cancelled each other") {
  // Found by drawing: of five neurons one is active, and its delta is 1.3e-4 of what it is the sum of.
  const Problem problem = training_problem(layers(13, std::vector<std::int64_t>{17, 5}, 3), 37, 1);
  for (const OptionSet& set : option_sets(true, true)) {
    if (set.hidden != kRelu || set.output != kSoftmax) continue;
    CAPTURE(set.text());
    check_plain(verification_workload(problem, set, 495024070));
  }
}

/// Whether two gradients differ by more than a twentieth in some layer. Others may differ by chance in next to nothing:
/// a row of 37 whose output is right.
bool differ(const Layers& layers, const std::vector<float>& found, const std::vector<float>& right) {
  for (int l = 0; l < layers.count; ++l) {
    double difference = 0.0, size = 0.0;
    for (auto i = at(layers.weights_at(l)); i < at(layers.weights_at(l) + layers.parameters_of(l)); ++i) {
      difference += square(static_cast<double>(found[i]) - static_cast<double>(right[i]));
      size += square(static_cast<double>(right[i]));
    }
    if (difference > square(0.05) * size) return true;
  }
  return false;
}

TEST_CASE("a verification finds what is wrong, also in narrow and deep networks") {
  const std::uint64_t start = test::sample_seed();
  for (const Fault fault : {Fault::last_row_left_out, Fault::slope_left_out, Fault::last_neuron_left_out}) {
    int wrong = 0, all = 0;
    for (const Problem& problem : small_problems()) {
      for (const OptionSet& set : option_sets(problem.at("batch") < problem.at("rows"), problem.at("batch") == 1)) {
        if (set.hidden == kRelu) continue;  // of six layers of one neuron one is idle in almost every draw
        for (std::uint64_t seed = start; seed < start + 20; ++seed) {
          CAPTURE(static_cast<int>(fault));
          CAPTURE(problem.text());
          CAPTURE(set.text());
          CAPTURE(seed);
          const Workload work = verification_workload(problem, set, seed);
          const Moment before = first_moment(work), found = step_plain(work, before, fault);
          ++all;
          if (!differ(work.layers, found.gradient, step_plain(work, before).gradient)) continue;
          CHECK_FALSE(compare_step(work, before, found).accepted);
          ++wrong;
        }
      }
    }
    CHECK(wrong > all / 4);
  }
}

}  // namespace
}  // namespace heddle::mlp
