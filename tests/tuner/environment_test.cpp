#include "heddle/tuner/environment.hpp"

#include <doctest/doctest.h>

#include "fake_evaluator.hpp"

using namespace heddle;

TEST_CASE("clocks are read while the device works") {
  const fake::Family family;
  fake::FakeEvaluator evaluator(family);
  evaluator.clocks = "1 Hz";
  CHECK(present_environment(evaluator, fake::problem(8), false).clocks.empty());
  CHECK(evaluator.prepared.empty());
  CHECK(present_environment(evaluator, fake::problem(8), true).clocks == "1 Hz");
  CHECK(evaluator.prepared.size() == 1);
}
