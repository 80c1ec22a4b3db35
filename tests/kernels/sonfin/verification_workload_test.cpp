#include "heddle/kernels/sonfin/verification_workload.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/reference.hpp"
#include "kernels/sonfin/shapes.hpp"

namespace heddle::sonfin {
namespace {

/// Positions at which the reference adds a rule.
std::vector<std::int64_t> added_at(const VerificationWorkload& work) {
  Reference reference(work.network, work.options);
  std::vector<std::int64_t> positions;
  for (std::size_t position = 0; position < work.order.size(); ++position) {
    const std::int64_t row = work.order[position];
    const auto dim = static_cast<std::size_t>(work.network.dim),
               outputs = static_cast<std::size_t>(work.network.outputs);
    const auto outcome = reference.learn({work.rows.data() + row * work.network.dim, dim},
                                         {work.targets.data() + row * work.network.outputs, outputs});
    if (outcome.added) positions.push_back(static_cast<std::int64_t>(position));
  }
  return positions;
}

TEST_CASE("three rows want a rule, each in its place, and no other row does") {
  const std::uint64_t start = std::random_device{}();
  for (const auto& shape : kShapes) {
    const int rules = shape[0], dim = shape[1];
    for (const OptionSet& set : option_sets()) {
      for (std::uint64_t seed = start; seed < start + 6; ++seed) {
        CAPTURE(rules);
        CAPTURE(dim);
        CAPTURE(set.text());
        CAPTURE(seed);
        // With room for all that come.
        const VerificationWorkload work = verification_workload(problem(rules, dim, 3), set, rules + 5, 44, seed);
        CHECK(work.network.rules() == rules - 1);
        CHECK(work.samples() == 44);
        CHECK(work.options.step == set.step);
        CHECK(work.options.width == set.width);
        CHECK(added_at(work) == std::vector<std::int64_t>{work.first_far, work.second_far, work.third_far});
        CHECK(work.first_far < 22);
        CHECK(work.second_far > 21);
        std::vector<std::int32_t> order = work.order;
        std::sort(order.begin(), order.end());
        for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == static_cast<std::int32_t>(i));
        // And at the cap.
        for (const std::int64_t cap : {rules, rules + 1}) {
          const auto capped = verification_workload(problem(rules, dim, 3), set, cap, 44, seed);
          CHECK(capped.rows == work.rows);
          CHECK(static_cast<std::int64_t>(added_at(capped).size()) == cap - rules + 1);
        }
      }
    }
  }
}

TEST_CASE("option sets are all different, and say what they are") {
  std::set<std::string> texts;
  for (const OptionSet& set : option_sets()) texts.insert(set.text());
  CHECK(texts.size() == 8);
  CHECK(texts.contains("plain step, squared width, deep"));
}

TEST_CASE("the same arguments give the same verification, others give others") {
  const auto of = [](std::uint64_t seed) { return verification_workload(problem(20, 9, 4), {}, 20, 33, seed); };
  const VerificationWorkload a = of(12), b = of(12), c = of(13);
  CHECK(a.rows == b.rows);
  CHECK(a.network.widths == b.network.widths);
  CHECK(a.second_far == b.second_far);
  CHECK(a.rows != c.rows);
  CHECK_THROWS_AS((void)verification_workload(problem(9, 6, 2), {}, 9, 15, 3), std::invalid_argument);
}

}  // namespace
}  // namespace heddle::sonfin
