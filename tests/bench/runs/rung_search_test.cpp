#include "heddle/bench/runs/rung_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "heddle/bench/common/restricted_family.hpp"
#include "tuner/fake_evaluator.hpp"
#include "tuner/temporary_store.hpp"

namespace heddle::bench {
namespace {

const std::vector<Problem> kProblems{fake::problem(16), fake::problem(24), fake::problem(32)};

std::size_t tried(const TemporaryStore& temporary, const fake::FakeEvaluator& evaluator, const Problem& problem) {
  std::set<std::string> texts;
  for (const Measurement& each :
       temporary.store.measurements(ProfileKey{.device = evaluator.device(), .family = "fake", .problem = problem})) {
    texts.insert(each.configuration);
  }
  return texts.size();
}

TEST_CASE("a search goes on until enough configurations were tried for every problem") {
  const TemporaryStore temporary;
  const fake::Family family;
  fake::FakeEvaluator evaluator(family);
  const SearchDepth depth = search_rungs(evaluator, temporary.store, kProblems, {.seconds = {}, .evaluations = 4}, 1);
  CHECK(depth.is_enough());
  CHECK(depth.tried >= 8);
  std::size_t fewest = 1000;
  for (const Problem& problem : kProblems) fewest = std::min(fewest, tried(temporary, evaluator, problem));
  CHECK(depth.tried == static_cast<std::int64_t>(fewest));
  CHECK(depth.allowed == 200);
}

TEST_CASE("a search that is not deep enough after all its goes says so") {
  const TemporaryStore temporary;
  const fake::Family family;
  fake::FakeEvaluator evaluator(family);
  const SearchDepth depth = search_rungs(evaluator, temporary.store, kProblems, {.seconds = {}, .evaluations = 1}, 1);
  CHECK_FALSE(depth.is_enough());
  CHECK(depth.tried < 8);
  CHECK(depth.tried == static_cast<std::int64_t>(tried(temporary, evaluator, depth.problem)));
}

TEST_CASE("all configurations of a small space are enough") {
  const TemporaryStore temporary;
  const fake::Family whole;
  const RestrictedFamily family(whole, {{"width", {"1"}}, {"depth", {"1", "2", "3"}}});
  fake::FakeEvaluator evaluator(family);
  const SearchDepth depth = search_rungs(evaluator, temporary.store, kProblems, {.seconds = {}, .evaluations = 50}, 1);
  CHECK(depth.tried == 3);
  CHECK(depth.allowed == 3);
  CHECK(depth.is_enough());
}

TEST_CASE("what a compiler had no time for was not tried, and neither was what other kernels ran") {
  const TemporaryStore temporary;
  const fake::Family family;
  fake::FakeEvaluator evaluator(family);
  const auto record = [&](std::int64_t width, Status status, const std::string& message, const KernelVersion& kernels) {
    temporary.store.record({.key = {.device = evaluator.device(), .family = "fake", .problem = kProblems[0]},
                            .kernels = kernels,
                            .configuration = fake::Family::configuration("good", width, 2).text(),
                            .status = status,
                            .times = {},
                            .samples = 0,
                            .message = message,
                            .cost = {},
                            .provenance = evaluator.provenance()});
  };
  for (std::int64_t width = 1; width <= 10; ++width) {
    record(width, Status::compilation, std::string(kCompilerFailed) + " took too long", evaluator.kernels());
    record(width + 10, Status::launch, "cannot launch", KernelVersion{.source_hash = "other"});
  }
  const SearchDepth depth =
      search_rungs(evaluator, temporary.store, {kProblems[0]}, {.seconds = {}, .evaluations = 1}, 1);
  CHECK_FALSE(depth.is_enough());
}

TEST_CASE("a problem that has few configurations does not hide one of which too few were tried") {
  const TemporaryStore temporary;
  const fake::Family whole;
  const RestrictedFamily family(whole, {{"width", {"1"}}});  // one depth for each unit of the size, up to 10
  fake::FakeEvaluator evaluator(family);
  const SearchDepth depth = search_rungs(evaluator, temporary.store, {fake::problem(1), fake::problem(16)},
                                         {.seconds = {}, .evaluations = 1}, 1);
  CHECK(depth.problem == fake::problem(16));
  CHECK(depth.allowed == 10);
  CHECK(depth.tried < 8);
  CHECK_FALSE(depth.is_enough());
}

}  // namespace
}  // namespace heddle::bench
