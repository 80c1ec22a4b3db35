#include "heddle/kernels/mlp/workload.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "heddle/kernels/mlp/network.hpp"
#include "heddle/kernels/mlp/reference.hpp"
#include "sample.hpp"

namespace heddle::mlp {
namespace {

Problem one_output(std::int64_t rows, std::int64_t batch) {
  return training_problem(layers(14, std::vector<std::int64_t>{10}, 1), rows, batch);
}

// A timed run whose weights stand still, or whose error vanishes, says nothing about a kernel: float32 and float64 then
// differ by whatever rounding leaves.
TEST_CASE("a timed run of a network with one output has something to learn to its end") {
  for (const auto& sizes : {std::pair{10, 10}, std::pair{100, 100}, std::pair{400, 1}, std::pair{400, 64}}) {
    const std::int64_t rows = sizes.first, batch = sizes.second;
    CAPTURE(rows);
    CAPTURE(batch);
    const Workload work = timing_workload(one_output(rows, batch), 1, test::sample_seed());
    const auto ones = std::count(work.targets.begin(), work.targets.end(), 1.0F);
    CHECK(ones > 0);
    CHECK(ones < rows);
    Reference reference(work.layers, work.parameters, work.state, work.progress);
    REQUIRE(reference.step(work.batch(0), work.control));
    double change = 0.0;
    for (std::size_t i = 0; i < work.parameters.size(); ++i) {
      change = std::max(change, std::abs(reference.parameters()[i] - static_cast<double>(work.parameters[i])));
    }
    CHECK(change > 1e-6);
  }
}

TEST_CASE("rows are bytes if all are whole numbers up to 255, or all are such numbers / 255") {
  std::vector<float> numbers{0.0F, 1.0F, 255.0F, 17.0F};
  CHECK(bits_of(numbers) == kByteBits);
  for (float& number : numbers) number /= 255.0F;
  CHECK(bits_of(numbers) == kByteBits);
  for (const float other : {-1.0F, 0.5F, 256.0F, std::numeric_limits<float>::quiet_NaN()}) {
    CAPTURE(other);
    CHECK(bits_of(std::vector<float>{3.0F, other}) == kFloatBits);
  }
  CHECK(bits_of(std::vector<float>{1.0F / 255.0F, 2.0F}) == kFloatBits);  // some of either kind
}

TEST_CASE("a timed run has rows of the problem's bits") {
  for (const std::int64_t bits : {kByteBits, kFloatBits}) {
    for (const std::int64_t batch : {7, 30}) {
      const Problem problem = training_problem(layers(9, std::vector<std::int64_t>{3}, 2), 30, batch, bits);
      CHECK(bits_of(timing_workload(problem, 1, test::sample_seed()).rows) == bits);
    }
  }
}

}  // namespace
}  // namespace heddle::mlp
