#include "heddle/tuner/search/searched_problems.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <vector>

#include "fake_evaluator.hpp"
#include "heddle/kernels/error.hpp"

namespace heddle {
namespace {

/// Counts how often a space is made, and fails where it is told to.
class Counted final : public fake::Family {
 public:
  SearchSpace space(const DeviceIdentity& device) const override {
    ++spaces;
    return Family::space(device);
  }
  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    if (problem.at("size") == 13) throw Error(ErrorKind::input, "no luck");
    return Family::default_configuration(device, problem);
  }
  mutable std::atomic<int> spaces = 0;
};

TEST_CASE("each problem is listed once, by whoever comes first, and stays where it is") {
  const Counted family;
  fake::FakeEvaluator evaluator(family);
  const StopCondition stop;
  std::vector<Problem> coming;
  for (std::int64_t size = 20; size < 60; ++size) coming.push_back(fake::problem(size));
  SearchedProblems problems(evaluator, stop, coming);
  std::vector<const SearchedProblem*> seen;
  for (auto problem = coming.rbegin(); problem != coming.rend(); ++problem) {  // against the order of the thread
    const SearchedProblem& one = problems.at(*problem);
    CHECK(one.problem() == *problem);
    CHECK(one.count() == 200);
    CHECK(one.is_untuned(one.find(one.untuned()).value()));
    seen.push_back(&one);
  }
  CHECK(&problems.at(coming.back()) == seen.front());
  CHECK(problems.at(fake::problem(5)).count() == 100);  // nobody expected it
  CHECK(family.spaces == 41);
}

TEST_CASE("what cannot be listed fails where it is asked for, and every time") {
  const Counted family;
  fake::FakeEvaluator evaluator(family);
  const StopCondition stop;
  SearchedProblems problems(evaluator, stop, {fake::problem(13), fake::problem(14)});
  CHECK(problems.at(fake::problem(14)).count() == 200);
  for (int i = 0; i < 2; ++i) CHECK_THROWS_AS((void)problems.at(fake::problem(13)), Error);
}

TEST_CASE("nothing is listed ahead where that would disturb what is measured") {
  const Counted family;
  fake::FakeEvaluator evaluator(family);
  evaluator.on_processor = true;
  const StopCondition stop;
  SearchedProblems problems(evaluator, stop, {fake::problem(13), fake::problem(14)});
  CHECK(family.spaces == 0);
  CHECK(problems.at(fake::problem(14)).count() == 200);
  CHECK(family.spaces == 1);
}

}  // namespace
}  // namespace heddle
