#include "heddle/kernels/sonfin/comparison.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/reference.hpp"
#include "heddle/kernels/sonfin/verification_workload.hpp"
#include "kernels/sonfin/plain_float.hpp"
#include "kernels/sonfin/shapes.hpp"

namespace heddle::sonfin {
namespace {

constexpr std::int64_t kSamples = 44;

Accuracy compare_plain(const Workload& work, Fault fault = Fault::none) {
  const PlainResult result = train_plain(work, fault);
  return compare_training(expectation(work), result.network, result.progress);
}

/// Grows by two rules.
VerificationWorkload growing(std::int64_t rules, std::int64_t dim, std::int64_t outputs, const OptionSet& set,
                             std::uint64_t seed) {
  return verification_workload(problem(rules, dim, outputs), set, rules + 1, kSamples, seed);
}

void check_plain(const std::array<int, 2>& shape, std::uint64_t start, int seeds) {
  const int rules = shape[0], dim = shape[1];
  for (const int outputs : {1, 3, 26}) {
    for (const OptionSet& set : option_sets()) {
      for (int i = 0; i < seeds; ++i) {
        const std::uint64_t seed = start + static_cast<std::uint64_t>(i);
        CAPTURE(rules);
        CAPTURE(dim);
        CAPTURE(outputs);
        CAPTURE(set.text());
        CAPTURE(seed);
        const Accuracy accuracy = compare_plain(growing(rules, dim, outputs, set, seed));
        CHECK_MESSAGE(accuracy.accepted, accuracy.message);
        CHECK(accuracy.worst_error < 5e-3);  // of 1e-2, which is what a single rule may be off by
      }
    }
  }
}

TEST_CASE("a verification accepts plain float32 with room to spare, whatever the seed") {
  const std::uint64_t start = std::random_device{}();
  for (const auto& shape : kShapes) check_plain(shape, start, 40);
}

TEST_CASE("also where groups of rules are many, and differ in few of the inputs") {
  const std::uint64_t start = std::random_device{}();
  for (const std::array<int, 2>& shape :
       {std::array{65, 9}, {257, 17}, {256, 32}, {640, 16}, {1024, 10}, {1024, 1}, {700, 2}}) {
    check_plain(shape, start, 3);
  }
}

TEST_CASE("also of drawn shapes") {
  std::mt19937_64 random(std::random_device{}());
  const auto drawn = [&](double most) {  // every order of magnitude as often
    return static_cast<int>(std::exp(std::uniform_real_distribution(0.0, std::log(most))(random)));
  };
  for (int i = 0; i < 40; ++i) check_plain({drawn(1500.0), drawn(200.0)}, random(), 1);
}

TEST_CASE("also where a far row's rule fires more than those of a group") {
  // Found by drawing: the rows moved these rules by so little that up to 0.8 % of a change was rounding.
  for (const std::uint64_t seed : {2025420981, 5001630, 5021701, 5024349}) check_plain({65, 9}, seed, 1);
}

TEST_CASE("also where outputs are many") {
  // Where a step moved log firings by more than 1, plain float32 failed with many seeds.
  const std::uint64_t start = std::random_device{}();
  for (const OptionSet& set : option_sets()) {
    for (std::uint64_t seed = start; seed < start + 40; ++seed) {
      CAPTURE(set.text());
      CAPTURE(seed);
      const Accuracy accuracy = compare_plain(growing(9, 17, 400, set, seed));
      CHECK_MESSAGE(accuracy.accepted, accuracy.message);
    }
  }
}

TEST_CASE("also where sums are long") {
  const std::uint64_t start = std::random_device{}();
  check_plain({130, 1025}, start, 1);
  check_plain({64, 512}, start, 4);
  check_plain({8, 2000}, start, 2);
}

TEST_CASE("also of a rule that is alone, whose antecedents change by rounding only") {
  const std::uint64_t start = std::random_device{}();
  for (const int dim : {1500, 1614, 1800}) check_plain({2, dim}, start, 8);
}

struct Wrong {
  Fault fault;
  std::string name;
};

TEST_CASE("a verification finds what is wrong, whatever the option set and the seed") {
  const std::uint64_t start = std::random_device{}();
  for (const Wrong& wrong : {Wrong{Fault::tie_to_last, "tie"},
                             {Fault::no_width_update, "no width update"},
                             {Fault::no_centre_update, "no centre update"},
                             {Fault::no_consequent_update, "no consequent update"},
                             {Fault::skipped_rule, "skipped rule"},
                             {Fault::last_input_ignored, "last input"},
                             {Fault::new_consequents_first, "new consequents first"},
                             {Fault::never_adds, "never adds"},
                             {Fault::adds_beyond_cap, "adds beyond cap"},
                             {Fault::other_width, "other width"},
                             {Fault::other_step, "other step"},
                             {Fault::no_width_floor, "no floor"},
                             {Fault::order_shifted, "order"},
                             {Fault::stale_from_sample_14, "sample 14"},
                             {Fault::nan, "nan"}}) {
    int found = 0, tried = 0;
    std::string missed;
    for (const auto& [rules, dim] : {std::array{33, 17}, {64, 16}}) {
      for (const OptionSet& set : option_sets()) {
        for (std::uint64_t seed = start; seed < start + 4; ++seed) {
          const Accuracy accuracy = compare_plain(growing(rules, dim, 10, set, seed), wrong.fault);
          CHECK(accuracy.accepted == accuracy.message.empty());
          found += accuracy.accepted ? 0 : 1;
          ++tried;
          if (accuracy.accepted) missed += set.text() + "; ";
        }
      }
    }
    CAPTURE(wrong.name);
    CAPTURE(start);
    CAPTURE(missed);
    // The first row's lesson may be so small that it hardly matters when it came.
    CHECK(found >= (wrong.fault == Fault::order_shifted ? tried * 15 / 16 : tried));
  }
}

TEST_CASE("a verification notices that the last sample was not learnt, also in small networks") {
  const std::uint64_t start = std::random_device{}();
  for (const auto& shape : kShapes) {
    const int rules = shape[0], dim = shape[1];
    for (const int outputs : {1, 3, 26}) {
      for (const OptionSet& set : option_sets()) {
        for (std::uint64_t seed = start; seed < start + 40; ++seed) {
          CAPTURE(rules);
          CAPTURE(dim);
          CAPTURE(outputs);
          CAPTURE(set.text());
          CAPTURE(seed);
          CHECK_FALSE(compare_plain(growing(rules, dim, outputs, set, seed), Fault::last_sample_unlearnt).accepted);
        }
      }
    }
  }
}

TEST_CASE("a verification finds wrong steps of centres and widths where outputs are many, and steps therefore small") {
  const std::uint64_t start = std::random_device{}();
  for (const Fault fault : {Fault::no_width_update, Fault::no_centre_update, Fault::skipped_rule,
                            Fault::last_input_ignored, Fault::new_consequents_first, Fault::other_step}) {
    for (const OptionSet& set : option_sets()) {
      for (std::uint64_t seed = start; seed < start + 4; ++seed) {
        CAPTURE(static_cast<int>(fault));
        CAPTURE(set.text());
        CAPTURE(seed);
        CHECK_FALSE(compare_plain(growing(48, 20, 400, set, seed), fault).accepted);
      }
    }
  }
}

TEST_CASE("a verification finds Gaussians that underflow where firing is deep, and only there") {
  const std::uint64_t start = std::random_device{}();
  for (std::uint64_t seed = start; seed < start + 4; ++seed) {
    for (const OptionSet& set : option_sets()) {
      CAPTURE(set.text());
      CHECK(compare_plain(growing(33, 17, 10, set, seed), Fault::product_of_gaussians).accepted == !set.deep);
    }
  }
}

TEST_CASE("counts must agree") {
  const Workload work = growing(9, 6, 2, {}, 3);
  const PlainResult good = train_plain(work);
  REQUIRE(compare_training(expectation(work), good.network, good.progress).accepted);
  Progress progress = good.progress;
  progress.position -= 1;
  CHECK_FALSE(compare_training(expectation(work), good.network, progress).accepted);
  CHECK(std::isinf(distance_of_training(expectation(work), good.network, progress)));
  progress = good.progress;
  progress.loss *= 1.01;
  CHECK_FALSE(compare_training(expectation(work), good.network, progress).accepted);
  progress.loss = std::nan("");
  CHECK_FALSE(compare_training(expectation(work), good.network, progress).accepted);
  progress = good.progress;
  progress.rules -= 1;
  CHECK_FALSE(compare_training(expectation(work), good.network, progress).accepted);
}

TEST_CASE("after thousands of samples float32 is about as far from float64 as rounding explains, and faults are not") {
  for (const auto& shape : {std::array{32, 16, 10}, {40, 3, 1}, {64, 64, 26}}) {
    const auto [rules, dim, outputs] = shape;
    CAPTURE(shape[0]);
    const Workload work = timing_workload(problem(rules, dim, outputs), 1024, 1);
    const Expectation expected = expectation(work);
    const auto distance = [&](Fault fault) {
      const PlainResult result = train_plain(work, fault);
      return distance_of_training(expected, result.network, result.progress);
    };
    CHECK(distance(Fault::none) > 0.05);
    CHECK(distance(Fault::none) < 3.0);
    for (const Fault fault : {Fault::skipped_rule, Fault::other_step, Fault::no_width_update, Fault::nan}) {
      CHECK(distance(fault) > 100.0);
    }
  }
}

TEST_CASE("a disturbed network begins one unit away, and ends far away where training is chaotic") {
  const Workload work = timing_workload(problem(32, 16, 1), 4096, 1);
  for (const std::int64_t samples : {64, 512, 4096}) {
    CAPTURE(samples);
    const Workload other = disturbed(work, samples, 7);
    CHECK(disturbed(work, samples, 7).network.centres == other.network.centres);
    CHECK(disturbed(work, samples, 8).network.centres != other.network.centres);
    Expectation start = expectation(work, 0);
    start.samples = samples;
    const Progress progress{
        .rules = 32, .position = static_cast<int>(samples), .halted = 0, .reserved = 0, .loss = 0.0};
    CHECK(distance_of_training(start, other.network, progress) == doctest::Approx(1.0).epsilon(0.1));
    const double end = distance_of_training(expectation(work, samples), expectation(other, samples));
    MESSAGE("after " << samples << " samples: " << end);
    CHECK((end > 1000.0) == (samples == 4096));
    CHECK((end < 16.0) == (samples <= 512));
  }
}

TEST_CASE("predictions are compared as a whole") {
  const Workload work = timing_workload(problem(40, 11, 6), 50, 4);
  const std::vector<double> expected = predictions(work.network, work.rows);
  REQUIRE(expected.size() == 300);
  const std::vector<float> outputs(expected.begin(), expected.end());
  CHECK(compare_prediction(expected, outputs).accepted);
  CHECK(error_of_prediction(expected, outputs) < 1e-7);
  std::vector<float> wrong = outputs;
  std::swap(wrong[0], wrong[1]);
  CHECK_FALSE(compare_prediction(expected, wrong).accepted);
  wrong = outputs;
  wrong[100] = std::nanf("");
  CHECK_FALSE(compare_prediction(expected, wrong).accepted);
  wrong.pop_back();
  CHECK_FALSE(compare_prediction(expected, wrong).accepted);
}

}  // namespace
}  // namespace heddle::sonfin
