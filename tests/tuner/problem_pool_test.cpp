#include "heddle/tuner/problem_pool.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "fake_evaluator.hpp"
#include "heddle/tuner/tuner.hpp"
#include "temporary_store.hpp"

using namespace heddle;

namespace {

std::vector<Problem> pool_problems() {
  std::vector<Problem> all;
  for (const std::int64_t size : {2, 4, 8, 16, 32, 64, 128, 256, 512}) all.push_back(fake::problem(size));
  return all;
}

std::set<Problem> problems_tuned(const std::vector<TuningResult>& results) {
  std::set<Problem> found;
  for (const TuningResult& result : results) {
    if (result.profile) found.insert(result.problem);
  }
  return found;
}

}  // namespace

TEST_CASE("a problem belongs to the run that took it first, until that run leaves") {
  ProblemPool pool(2);
  const PoolShare first{&pool, 0}, second{&pool, 1};
  const Problem a = fake::problem(8), b = fake::problem(16);
  CHECK(first.take(a));
  CHECK(first.take(a));
  CHECK(first.take(b));
  CHECK(!second.take(a));
  CHECK(second.has_another(b));
  CHECK(!first.has_another(b));
  CHECK(second.taken_by_others() == std::vector<Problem>{a, b});
  CHECK(first.taken_by_others().empty());
  pool.leave(0, {a});
  CHECK(pool.runs() == 1);
  CHECK(!second.take(a));
  CHECK(second.take(b));
}

TEST_CASE("a run that has nothing to do waits for those that may still fail") {
  const Problem a = fake::problem(8), b = fake::problem(16);
  {
    ProblemPool pool(3);
    CHECK(pool.take(a, 0));
    std::thread failing([&] { pool.leave(0, {}); });
    bool told[2] = {};
    std::thread other([&] { told[1] = pool.wait_for_more(1, [] { return false; }); });
    told[0] = pool.wait_for_more(2, [] { return false; });
    failing.join();
    other.join();
    CHECK(told[0]);
    CHECK(told[1]);
    CHECK(pool.take(a, 2));
  }
  ProblemPool pool(2);
  CHECK(pool.take(b, 0));
  int asked = 0;
  CHECK(!pool.wait_for_more(1, [&] { return ++asked > 2; }));
  CHECK(asked == 3);
  CHECK(!pool.wait_for_more(0, [] { return false; }));  // the other one is idle
  pool.leave(0, {b});                                   // what it took is finished
  CHECK(!pool.wait_for_more(1, [] { return false; }));
}

TEST_CASE("two runs share out the problems: each is tuned once, and both have some") {
  const TemporaryStore temporary;
  const fake::Family family;
  ProblemPool pool(2);
  std::vector<TuningResult> results[2];
  std::vector<std::thread> threads;
  for (std::size_t run = 0; run < 2; ++run) {
    threads.emplace_back([&, run] {
      ProfileStore store(temporary.file(), ProfileStore::Access::read_write);
      fake::FakeEvaluator evaluator(family, run + 1);
      // Without this one run could be done before the other begins.
      evaluator.waits = [] { std::this_thread::sleep_for(std::chrono::microseconds(20)); };
      StopCondition stop({.seconds = {}, .evaluations = 250});
      results[run] =
          Tuner(evaluator, store, {.tune_sizes_between = true}, {}, {&pool, run}).tune(pool_problems(), stop);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::set<Problem> first = problems_tuned(results[0]), second = problems_tuned(results[1]);
  CHECK(!first.empty());
  CHECK(!second.empty());
  for (const Problem& problem : pool_problems()) CHECK(first.count(problem) + second.count(problem) == 1);
  CHECK(std::ranges::none_of(first, [&](const Problem& problem) { return second.contains(problem); }));
  for (const Problem& problem : pool_problems()) {
    const ProfileKey key{
        .device = fake::FakeEvaluator(family).device(), .family = std::string(family.name()), .problem = problem};
    CHECK(temporary.store.find(key));
  }
}

TEST_CASE("what a run that failed has not finished, another one tunes") {
  const TemporaryStore temporary;
  const fake::Family family;
  ProblemPool pool(2);
  std::set<Problem> finished;
  fake::FakeEvaluator failing(family);
  failing.waits = [&] {
    if (finished.size() >= 3) throw Error(ErrorKind::device, "fake does not answer any more");
  };
  TunerCallbacks callbacks;
  callbacks.result = [&](const TuningResult& result) { finished.insert(result.problem); };
  StopCondition stop({.seconds = {}, .evaluations = 1000});
  CHECK_THROWS_AS((void)Tuner(failing, temporary.store, {}, callbacks, {&pool, 0}).tune(pool_problems(), stop), Error);
  REQUIRE(finished.size() >= 3);
  REQUIRE(finished.size() < pool_problems().size());
  CHECK(pool.taken_by_others(1).size() > finished.size());
  pool.leave(0, finished);

  fake::FakeEvaluator evaluator(family);
  StopCondition rest({.seconds = {}, .evaluations = 1000});
  const auto found = problems_tuned(Tuner(evaluator, temporary.store, {}, {}, {&pool, 1}).tune(pool_problems(), rest));
  for (const Problem& problem : pool_problems()) CHECK(finished.contains(problem) != found.contains(problem));
}

TEST_CASE("what a run leaves that fails last, after the others have done all they could, is tuned too") {
  const TemporaryStore temporary;
  const fake::Family family;
  ProblemPool pool(2);
  std::set<Problem> finished;
  std::atomic<std::size_t> done = 0;
  std::vector<TuningResult> found;
  std::thread survivor([&] {
    ProfileStore store(temporary.file(), ProfileStore::Access::read_write);
    fake::FakeEvaluator evaluator(family);
    TunerCallbacks callbacks;
    callbacks.result = [&](const TuningResult&) { ++done; };
    StopCondition stop({.seconds = {}, .evaluations = 2000});
    found = Tuner(evaluator, store, {}, callbacks, {&pool, 1}).tune(pool_problems(), stop);
  });
  fake::FakeEvaluator failing(family);
  failing.waits = [&] {
    const std::size_t own = pool.taken_by_others(1).size();
    if (own == 0) return;
    while (done + own < pool_problems().size()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    throw Error(ErrorKind::device, "fake does not answer any more");
  };
  TunerCallbacks callbacks;
  callbacks.result = [&](const TuningResult& result) { finished.insert(result.problem); };
  StopCondition stop({.seconds = {}, .evaluations = 2000});
  CHECK_THROWS_AS((void)Tuner(failing, temporary.store, {}, callbacks, {&pool, 0}).tune(pool_problems(), stop), Error);
  pool.leave(0, finished);
  survivor.join();
  CHECK(finished.empty());
  CHECK(problems_tuned(found).size() == pool_problems().size());
}
