#include "heddle/kernels/problem.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <string>

#include "heddle/kernels/error.hpp"

namespace heddle {
namespace {

const std::vector<Axis>& axes() {
  static const std::vector<Axis> list{{.name = "rules", .weight = 1.0, .maximum = 1000},
                                      {.name = "dim", .weight = 0.5, .maximum = 1 << 24}};
  return list;
}

Problem problem(std::int64_t rules, std::int64_t dim) {
  return Problem({{.name = "rules", .value = rules}, {.name = "dim", .value = dim}});
}

TEST_CASE("a problem's text brings it back") {
  std::mt19937 random(std::random_device{}());
  for (int i = 0; i < 100; ++i) {
    const Problem p = problem(1 + random() % 1000, 1 + random() % (1 << 24));
    CHECK(Problem::parse(p.text(), axes()) == p);
  }
  CHECK(problem(3, 5).text() == "rules=3 dim=5");
  CHECK(Problem::parse("", {}) == Problem());
}

TEST_CASE("a problem that does not fit its axes is refused") {
  for (const char* text : {"", "rules=3", "dim=5 rules=3", "rules=3 dim=5 outputs=1", "rules=0 dim=5", "rules=-1 dim=5",
                           "rules=1001 dim=5", "rules=1000000000 dim=5", "rules=99999999999999999999 dim=5",
                           "rules=3 dim=5 ", " rules=3 dim=5", "rules=3  dim=5", "rules=03 dim=5", "rules=3.0 dim=5",
                           "rules= dim=5", "rules=3 dim", "rules=3\ndim=5"}) {
    CAPTURE(text);
    try {
      static_cast<void>(Problem::parse(text, axes()));
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::input);
      CHECK(std::string(error.what()).find("expected") != std::string::npos);
    }
  }
}

TEST_CASE("sizes by name") {
  const Problem p = problem(3, 5);
  CHECK(p.at("dim") == 5);
  CHECK(p.with("dim", 7) == problem(3, 7));
  CHECK(p.at("dim") == 5);
  CHECK_THROWS_AS(static_cast<void>(p.at("outputs")), std::out_of_range);
  CHECK_THROWS_AS(static_cast<void>(p.with("outputs", 1)), std::out_of_range);
}

TEST_CASE("distance is symmetric, weighted, and in octaves") {
  CHECK(squared_distance(problem(3, 5), problem(3, 5), axes()) == 0.0);
  CHECK(squared_distance(problem(4, 5), problem(16, 5), axes()) == doctest::Approx(4.0));
  CHECK(squared_distance(problem(4, 5), problem(8, 10), axes()) == doctest::Approx(1.5));
  CHECK(squared_distance(problem(9, 70), problem(2, 33), axes()) ==
        doctest::Approx(squared_distance(problem(2, 33), problem(9, 70), axes())));
}

}  // namespace
}  // namespace heddle
