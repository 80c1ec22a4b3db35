#include "heddle/kernels/mlp/workload.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
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

}  // namespace
}  // namespace heddle::mlp
