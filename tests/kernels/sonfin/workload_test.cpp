#include "heddle/kernels/sonfin/workload.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/reference.hpp"

namespace heddle::sonfin {
namespace {

TEST_CASE("the same arguments give the same bytes, others give others") {
  const Workload a = timing_workload(problem(20, 9, 4), 33, 12), b = timing_workload(problem(20, 9, 4), 33, 12);
  const Workload c = timing_workload(problem(20, 9, 4), 33, 13);
  CHECK(a.rows == b.rows);
  CHECK(a.targets == b.targets);
  CHECK(a.order == b.order);
  CHECK(a.network.centres == b.network.centres);
  CHECK(a.network.widths == b.network.widths);
  CHECK(a.network.consequents == b.network.consequents);
  CHECK(a.rows != c.rows);
}

TEST_CASE("timing fires as training does and keeps its rules") {
  for (const auto& [rules, dim] : {std::array{1, 1}, {64, 16}, {500, 100}}) {
    const Workload work = timing_workload(problem(rules, dim, 5), 600, 8);
    CHECK(work.network.rules() == rules);
    std::vector<double> winners;
    std::vector<bool> won(static_cast<std::size_t>(rules), false);
    for (std::int64_t i = 0; i < work.samples(); ++i) {
      double best = -1e300;
      std::int64_t winner = 0;
      for (std::int64_t k = 0; k < rules; ++k) {
        double sum = 0.0;
        for (std::int64_t j = 0; j < dim; ++j) {
          const auto kj = static_cast<std::size_t>(k * dim + j);
          const double z = (work.rows[static_cast<std::size_t>(i * dim + j)] - work.network.centres[kj]) /
                           static_cast<double>(work.network.widths[kj]);
          sum += z * z;
        }
        if (-sum > best) best = -sum, winner = k;
      }
      winners.push_back(best);
      won[static_cast<std::size_t>(winner)] = true;
    }
    std::nth_element(winners.begin(), winners.begin() + 300, winners.end());
    CHECK(winners[300] > -2.0);
    CHECK(winners[300] < -0.2);
    CHECK(std::count(won.begin(), won.end(), true) >= rules * 9 / 10);

    Reference reference(work.network, work.options);
    for (const std::int32_t row : work.order) {
      reference.learn({work.rows.data() + row * dim, static_cast<std::size_t>(dim)},
                      {work.targets.data() + row * 5, 5});
    }
    CHECK(reference.rules() == rules);
    CHECK(std::all_of(reference.widths().begin(), reference.widths().end(), [](double w) { return w < 1e3; }));
  }
}

}  // namespace
}  // namespace heddle::sonfin
