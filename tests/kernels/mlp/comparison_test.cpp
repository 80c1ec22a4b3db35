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

TEST_CASE("a verification accepts plain float32, whatever the seed") {
  constexpr int kAny = std::numeric_limits<int>::max();
  const std::uint64_t start = test::sample_seed();
  for (const Problem& problem : small_problems()) {
    for (const OptionSet& set : option_sets(problem.at("batch") < problem.at("rows"), problem.at("batch") == 1)) {
      for (std::uint64_t seed = start; seed < start + 20; ++seed) {
        CAPTURE(problem.text());
        CAPTURE(set.text());
        CAPTURE(seed);
        const Workload work = verification_workload(problem, set, seed);
        Moment now = first_moment(work);
        for (int step = 0; step < kVerifiedSteps && goes_on(work.control, now.progress, 0, kAny); ++step) {
          CAPTURE(step);
          const Moment next = step_plain(work, now);
          const Accuracy accuracy = compare_step(work, now, next);
          CHECK_MESSAGE(accuracy.accepted, accuracy.message);
          now = next;
        }
      }
    }
  }
}

TEST_CASE("a verification finds what is wrong, also in narrow and deep networks") {
  const std::uint64_t start = test::sample_seed();
  for (const Fault fault : {Fault::last_row_left_out, Fault::slope_left_out, Fault::last_neuron_left_out}) {
    for (const Problem& problem : small_problems()) {
      if (problem.at("inputs") < 4) continue;  // rows without any input may teach next to nothing
      if (fault != Fault::last_row_left_out && layers_of(problem).count == 1) continue;  // no hidden layer
      for (const OptionSet& set : option_sets(problem.at("batch") < problem.at("rows"), problem.at("batch") == 1)) {
        if (set.event != OptionSet::Event::none) continue;  // steps that go back learn nothing from the gradient
        if (set.output == kSoftmax && problem.at("outputs") == 1) continue;  // is always right, and learns nothing
        if (set.hidden == kRelu) continue;  // a layer of few neurons is often idle, and then nothing is wrong
        if (fault == Fault::slope_left_out && set.hidden == kLinear) continue;
        for (std::uint64_t seed = start; seed < start + 20; ++seed) {
          CAPTURE(static_cast<int>(fault));
          CAPTURE(problem.text());
          CAPTURE(set.text());
          CAPTURE(seed);
          const Workload work = verification_workload(problem, set, seed);
          const Moment before = first_moment(work);
          CHECK_FALSE(compare_step(work, before, step_plain(work, before, fault)).accepted);
        }
      }
    }
  }
}

}  // namespace
}  // namespace heddle::mlp
