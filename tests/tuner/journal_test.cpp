#include "heddle/tuner/journal.hpp"

#include <doctest/doctest.h>

#include "fake_evaluator.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "tuner/temporary_store.hpp"

using namespace heddle;

namespace {

struct Desk {
  TemporaryStore temporary;
  fake::Family family;
  fake::FakeEvaluator evaluator{family};

  Measurement measurement(int number, std::int64_t size = 8) const {
    Measurement measurement;
    measurement.key = {.device = fake::identity(), .family = "fake", .problem = fake::problem(size)};
    measurement.kernels.source_hash = family.source("").hash();
    measurement.configuration = text(number);
    measurement.status = Status::unverified;
    measurement.times = {1.5, 2.5};
    measurement.cost = 2.0;
    measurement.samples = 16;
    measurement.provenance = evaluator.provenance();
    return measurement;
  }
  static std::string text(int number) { return "kind=good width=" + std::to_string(number); }
};

}  // namespace

TEST_CASE("what was measured is on disk at once, and another journal of the run knows it as its own") {
  Desk desk;
  Journal journal(desk.temporary.store, desk.evaluator, desk.temporary.store.begin_run("task"));
  CHECK(!journal.recall(fake::problem(8), Desk::text(1), 1));
  journal.add(desk.measurement(1));
  Measurement pruned = desk.measurement(2);
  pruned.status = Status::pruned;
  pruned.times.clear();
  pruned.cost = 7.0;
  journal.add(pruned);
  const ProfileStore other(desk.temporary.file(), ProfileStore::Access::read);
  CHECK(other.measurements().size() == 2);

  const auto first = journal.recall(fake::problem(8), Desk::text(1), 1);
  REQUIRE(first);
  CHECK(first->own);
  CHECK(first->observation.status == Status::unverified);
  CHECK(*first->observation.cost == 2.0);
  Journal again(desk.temporary.store, desk.evaluator, journal.run());
  const auto second = again.recall(fake::problem(8), Desk::text(2), 1);
  REQUIRE(second);
  CHECK(second->own);
  CHECK(second->observation.status == Status::pruned);
  CHECK(*second->observation.cost == 7.0);
  CHECK(*again.samples(fake::problem(8)) == 16);
  CHECK(!again.recall(fake::problem(9), Desk::text(2), 1));
  CHECK(again.count_once(fake::problem(8), Desk::text(1)));
  CHECK(!again.count_once(fake::problem(8), Desk::text(1)));
}

TEST_CASE("an earlier run's measurements are known under the same kernels, driver and compiler only") {
  Desk desk;
  ProfileStore& store = desk.temporary.store;
  const TuningRun first = store.begin_run("task");
  Journal(store, desk.evaluator, first).add(desk.measurement(1));
  Measurement old_source = desk.measurement(2);
  old_source.kernels.source_hash = std::string(32, '0');
  Measurement old_driver = desk.measurement(3);
  old_driver.provenance.driver = "older";
  store.record({old_source, old_driver});
  store.end_run(first, true);
  const TuningRun second = store.begin_run("task");
  CHECK(second.id != first.id);
  store.record(desk.measurement(4));  // by another run, after this one began
  Journal journal(store, desk.evaluator, second);
  const auto known = journal.recall(fake::problem(8), Desk::text(1), 1);
  REQUIRE(known);
  CHECK(!known->own);
  for (const int unknown : {2, 3, 4}) CHECK(!journal.recall(fake::problem(8), Desk::text(unknown), 1));
}

TEST_CASE("what the compiler failed at is tried again by the next run, what it refused is not") {
  Desk desk;
  ProfileStore& store = desk.temporary.store;
  const TuningRun first = store.begin_run("task");
  Journal journal(store, desk.evaluator, first);
  const std::vector<std::string> logs{"error: the compiler did not end within 60 s",
                                      "kernel.cu(3): error: no such name"};
  for (int i = 0; i < 2; ++i) {
    Measurement failed = desk.measurement(i);
    failed.status = Status::compilation;
    failed.message = logs[static_cast<std::size_t>(i)];
    failed.times.clear();
    failed.cost.reset();
    journal.add(failed);
    CHECK(journal.recall(fake::problem(8), Desk::text(i), 1));  // this run does not wait for it a second time
  }
  store.end_run(first, true);
  const Journal next(store, desk.evaluator, store.begin_run("task"));
  CHECK_FALSE(next.recall(fake::problem(8), Desk::text(0), 1));
  CHECK(next.recall(fake::problem(8), Desk::text(1), 1));
}

TEST_CASE("who got too little of the processor is tried again by the next run, who computed for ever is not") {
  Desk desk;
  ProfileStore& store = desk.temporary.store;
  const TuningRun first = store.begin_run("task");
  Journal journal(store, desk.evaluator, first);
  const std::vector<std::string> lines{std::string(kStarved) + ": did not end within 10 s, of which it had 0.3 s",
                                       "did not end within 2 s"};
  for (int i = 0; i < 2; ++i) {
    Measurement hang = desk.measurement(i);
    hang.status = Status::hang;
    hang.message = lines[static_cast<std::size_t>(i)];
    hang.times.clear();
    hang.cost.reset();
    journal.add(hang);
    CHECK(journal.recall(fake::problem(8), Desk::text(i), 1));
  }
  store.end_run(first, true);
  const Journal next(store, desk.evaluator, store.begin_run("task"));
  CHECK_FALSE(next.recall(fake::problem(8), Desk::text(0), 1));
  CHECK(next.recall(fake::problem(8), Desk::text(1), 1));
}

TEST_CASE("finals belong to their visit, and who failed in them is known to the visits after it") {
  Desk desk;
  Journal journal(desk.temporary.store, desk.evaluator, desk.temporary.store.begin_run("task"));
  journal.add(desk.measurement(1));
  Measurement failed = desk.measurement(1);
  failed.status = Status::wrong_result;
  failed.times.clear();
  failed.cost.reset();
  failed.visit = 2;
  journal.add(failed);
  Journal again(desk.temporary.store, desk.evaluator, journal.run());
  CHECK(again.finals(fake::problem(8), 1).empty());
  CHECK(again.finals(fake::problem(8), 2).size() == 1);
  CHECK(again.recall(fake::problem(8), Desk::text(1), 2)->observation.status == Status::unverified);
  CHECK(again.recall(fake::problem(8), Desk::text(1), 3)->observation.status == Status::wrong_result);
}
