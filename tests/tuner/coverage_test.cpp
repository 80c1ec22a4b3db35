#include "heddle/tuner/coverage.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "fake_family.hpp"

using namespace heddle;

namespace {

const std::vector<Axis> axes{{.name = "size", .weight = 1.0, .maximum = 1 << 20}};

std::vector<Problem> doublings() {
  std::vector<Problem> all;
  for (std::int64_t size = 16; size <= 4096; size *= 2) all.push_back(fake::problem(size));
  return all;
}

double loss_after(const std::vector<Problem>& tuned) {
  Coverage coverage(axes, doublings());
  for (const Problem& problem : tuned) coverage.add_tuned(problem);
  return coverage.expected_loss();
}

}  // namespace

TEST_CASE("the middle of a range comes first, and then the largest gaps") {
  Coverage coverage(axes, doublings());
  CHECK(coverage.expected_loss() == 1.0);
  CHECK_FALSE(coverage.is_complete());
  std::vector<Problem> left = doublings();
  std::vector<std::int64_t> order;
  double before = 1.0;
  while (!left.empty()) {
    const std::size_t chosen = coverage.most_valuable(left);
    order.push_back(left[chosen].at("size"));
    coverage.add_tuned(left[chosen]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(chosen));
    CHECK(coverage.expected_loss() <= before);
    before = coverage.expected_loss();
  }
  CHECK(order[0] == 256);
  CHECK(std::max(order[1], order[2]) > 256);
  CHECK(std::min(order[1], order[2]) < 256);
}

TEST_CASE("what is under way counts as tuned when the next is chosen") {
  Coverage tuned(axes, doublings());
  const Coverage coverage(axes, doublings());
  std::vector<Problem> under_way;
  std::vector<Problem> left = doublings();
  while (!left.empty()) {
    const std::size_t chosen = coverage.most_valuable(left, under_way);
    CHECK(chosen == tuned.most_valuable(left));
    tuned.add_tuned(left[chosen]);
    under_way.push_back(left[chosen]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
}

TEST_CASE("the chosen order leaves less loss than orders by chance on average, however early it ends") {
  for (const std::size_t count : {2U, 3U, 4U}) {
    Coverage coverage(axes, doublings());
    for (std::size_t i = 0; i < count; ++i) coverage.add_tuned(doublings()[coverage.most_valuable(doublings())]);
    std::mt19937 random(5);
    double sum = 0.0;
    for (int times = 0; times < 100; ++times) {
      std::vector<Problem> others = doublings();
      std::shuffle(others.begin(), others.end(), random);
      others.resize(count);
      sum += loss_after(others) / 100.0;
    }
    CHECK(coverage.expected_loss() < 0.9 * sum);
  }
}

TEST_CASE("where winners do not carry over, more is tuned") {
  Coverage coverage(axes, doublings());
  for (const std::int64_t size : {16, 256, 4096}) coverage.add_tuned(fake::problem(size));
  const double unlearnt = coverage.expected_loss();
  for (int times = 0; times < 10; ++times) {
    coverage.learn(fake::problem(256), fake::problem(1024), 0.8);
    coverage.learn(fake::problem(256), fake::problem(64), 0.0);
  }
  CHECK(coverage.expected_loss() > unlearnt);
  CHECK(coverage.most_valuable({fake::problem(64), fake::problem(1024)}) == 1);
  Coverage flat(axes, doublings());
  flat.add_tuned(fake::problem(256));
  for (int times = 0; times < 1000; ++times) flat.learn(fake::problem(256), fake::problem(32), 0.0);
  CHECK(flat.expected_loss() < 0.05);
}

TEST_CASE("one size alone") {
  Coverage coverage(axes, {fake::problem(64)});
  coverage.add_tuned(fake::problem(64));
  CHECK(coverage.expected_loss() == 0.0);
  CHECK(coverage.most_valuable({fake::problem(64)}) == 0);
}

TEST_CASE("every cell of a grid has a problem within it, always the same, and none is of the grid") {
  const std::vector<Axis> both{{.name = "rows", .weight = 1.0, .maximum = 1 << 20},
                               {.name = "columns", .weight = 1.0, .maximum = 1 << 20}};
  const auto at = [](std::int64_t rows, std::int64_t columns) {
    return Problem({{.name = "rows", .value = rows}, {.name = "columns", .value = columns}});
  };
  std::vector<Problem> grid;
  for (const std::int64_t rows : {64, 16, 1024}) {
    for (const std::int64_t columns : {10, 400}) grid.push_back(at(rows, columns));
  }
  const std::vector<Problem> within = within_cells(grid, both);
  REQUIRE(within.size() == 2);
  CHECK(within[0].at("rows") > 16);
  CHECK(within[0].at("rows") < 64);
  CHECK(within[1].at("rows") > 64);
  CHECK(within[1].at("rows") < 1024);
  for (const Problem& problem : within) {
    CHECK(problem.at("columns") > 10);
    CHECK(problem.at("columns") < 400);
  }
  CHECK(within[0].at("columns") != within[1].at("columns"));
  CHECK(within_cells(grid, both) == within);
  const std::vector<Problem> one = within_cells({at(16, 7), at(64, 7)}, both);
  REQUIRE(one.size() == 1);
  CHECK(one[0].at("columns") == 7);                         // an axis of one size stays
  CHECK(within_cells({at(1, 7), at(2, 7)}, both).empty());  // nothing lies between
  CHECK(within_cells({at(16, 7)}, both).empty());
  CHECK(within_cells({}, both).empty());
}
