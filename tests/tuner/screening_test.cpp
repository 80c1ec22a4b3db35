#include "heddle/tuner/screening.hpp"

#include <doctest/doctest.h>

#include "fake_evaluator.hpp"

using namespace heddle;

namespace {

Measurement blank() {
  Measurement measurement;
  measurement.key = {.device = fake::identity(), .family = "fake", .problem = fake::problem(8)};
  measurement.samples = 32;
  return measurement;
}

}  // namespace

TEST_CASE("a repetition takes about a millisecond or two, whatever the speed") {
  fake::Family family;
  fake::FakeEvaluator evaluator(family);
  const Configuration configuration = fake::Family::configuration("good", 1, 1);
  for (const double cost : {0.001, 0.1, 3.0, 40.0, 2000.0, 1e6}) {
    evaluator.cost = [&](const Configuration&, const Problem&) { return cost; };
    const std::int64_t samples = choose_samples(evaluator, configuration, fake::problem(8));
    CHECK((samples & (samples - 1)) == 0);
    const double repetition = static_cast<double>(samples) * cost;
    CHECK((repetition > 1000.0 || samples == 16384));
    CHECK((repetition < 4000.0 || samples == 16));
  }
  evaluator.fate = [](const Configuration&) { return Status::launch; };
  CHECK(choose_samples(evaluator, configuration, fake::problem(8)) == 64);
}

TEST_CASE("a first repetition that loads code and starts threads does not decide how long the others are") {
  const fake::Family family;
  fake::FakeEvaluator evaluator(family);
  const Configuration configuration = fake::Family::configuration("good", 1, 1);
  evaluator.cost = [](const Configuration&, const Problem&) { return 6.0; };
  for (const double cold_start : {0.0, 2.0, 10.0, 50.0}) {  // up to 78 ms
    CAPTURE(cold_start);
    evaluator.cold_start = cold_start;
    CHECK(choose_samples(evaluator, configuration, fake::problem(8)) == 256);
  }
}

TEST_CASE("a family says how much work a repetition may do, and what its unit is called") {
  class Counted final : public fake::Family {
   public:
    explicit Counted(WorkRange range) : range_(range) {}
    std::string_view unit() const override { return "launch"; }
    WorkRange timed_work(const Problem& problem, const DeviceIdentity&) const override {
      return {range_.least, problem.at("size") > 100 ? range_.least : range_.most};
    }

   private:
    WorkRange range_;
  };
  const Configuration configuration = fake::Family::configuration("good", 1, 1);
  const std::vector<WorkRange> ranges{{1, 1}, {1, 64}, {3, 100}, {std::int64_t{1} << 20, std::int64_t{1} << 36}};
  for (const WorkRange& range : ranges) {
    const Counted family(range);
    fake::FakeEvaluator evaluator(family);
    for (const double cost : {1e-8, 1e-6, 1e-3, 1.0, 40.0, 1e6}) {
      evaluator.cost = [&](const Configuration&, const Problem&) { return cost; };
      const std::int64_t chosen = choose_samples(evaluator, configuration, fake::problem(8));
      CAPTURE(range.most);
      CAPTURE(cost);
      CHECK(chosen >= range.least);
      CHECK(chosen <= range.most);
      const double repetition = static_cast<double>(chosen) * cost;
      CHECK((repetition > 1000.0 || chosen == range.most));
      CHECK((repetition < 4000.0 || chosen <= 2 * range.least));
      CHECK(choose_samples(evaluator, configuration, fake::problem(101)) == range.least);
    }
    evaluator.fate = [](const Configuration&) { return Status::launch; };
    CHECK(choose_samples(evaluator, configuration, fake::problem(8)) == std::min(4 * range.least, range.most));
  }
  const Counted family({1, 64});
  fake::FakeEvaluator evaluator(family);
  evaluator.cost = [](const Configuration&, const Problem&) { return 10.0; };
  const Screened late = screen(evaluator, configuration, blank(), {.repetitions = 5, .prune_above = 1.0});
  CHECK(late.measurement.message.find("us per launch") != std::string::npos);
}

TEST_CASE("what cannot win is not measured to the end and has no times") {
  fake::Family family;
  fake::FakeEvaluator evaluator(family);
  evaluator.cost = [](const Configuration&, const Problem&) { return 10.0; };
  const Configuration configuration = fake::Family::configuration("good", 1, 1);
  const Screened free = screen(evaluator, configuration, blank(), {.repetitions = 5, .prune_above = {}});
  CHECK(free.measurement.status == Status::unverified);
  CHECK(free.measurement.times.size() == 5);
  CHECK(*free.cost >= 10.0);
  for (const double limit : {1.0, 9.0}) {
    const Screened late = screen(evaluator, configuration, blank(), {.repetitions = 5, .prune_above = limit});
    CHECK(late.measurement.status == Status::pruned);
    CHECK(late.measurement.times.empty());
    CHECK(!late.measurement.message.empty());
    CHECK(*late.cost >= 10.0);
  }
}

TEST_CASE("every failure is a status without a time") {
  fake::Family family;
  fake::FakeEvaluator evaluator(family);
  for (const Status status : {Status::launch, Status::overrun, Status::illegal_access}) {
    evaluator.fate = [&](const Configuration&) { return status; };
    evaluator.dead = false;
    const Screened failed =
        screen(evaluator, fake::Family::configuration("good", 1, 1), blank(), {.repetitions = 3, .prune_above = {}});
    CHECK(failed.measurement.status == status);
    CHECK(failed.measurement.times.empty());
    CHECK(!failed.measurement.message.empty());
    CHECK(!failed.cost);
  }
}

TEST_CASE("disturbed repetitions seldom cost a configuration its place") {
  const fake::Family family;
  fake::FakeEvaluator evaluator(family, 3);
  evaluator.cost = [](const Configuration&, const Problem&) { return 10.0; };
  evaluator.outliers = 0.3;
  const ScreeningLimits limits{.repetitions = 3, .prune_above = 11.0};
  int pruned = 0;
  int slow = 0;
  constexpr int kRuns = 1000;
  for (int run = 0; run < kRuns; ++run) {
    const Screened screened = screen(evaluator, fake::Family::configuration("good", 1, 1), blank(), limits);
    if (screened.measurement.status == Status::pruned) ++pruned;
    if (screened.measurement.status == Status::unverified && *screened.cost > 10.5) ++slow;
  }
  // Two in a row are disturbed in 9 % of all cases, three in 2.7 %.
  CHECK(pruned < 0.05 * kRuns);
  CHECK(slow < 0.05 * kRuns);
}

TEST_CASE("what can be no finalist is not timed again, but keeps its time") {
  const fake::Family family;
  const Configuration configuration = fake::Family::configuration("good", 1, 1);
  fake::FakeEvaluator evaluator(family);
  evaluator.cost = [](const Configuration&, const Problem&) { return 10.0; };
  evaluator.noise = 0.001;
  evaluator.outliers = 0.0;
  const auto times = [&](double settle_above) {
    const Screened screened = screen(evaluator, configuration, blank(),
                                     {.repetitions = 3, .prune_above = 12.0, .settle_above = settle_above});
    CHECK(screened.measurement.status == Status::unverified);
    CHECK(*screened.cost >= 10.0);
    return screened.measurement.times.size();
  };
  CHECK(times(8.0) == 1);   // the warm-up and the first repetition agree
  CHECK(times(11.0) == 3);  // it may become a finalist
}

TEST_CASE("a disturbed repetition does not settle what may be the best") {
  const fake::Family family;
  fake::FakeEvaluator evaluator(family, 3);
  evaluator.cost = [](const Configuration&, const Problem&) { return 10.0; };
  evaluator.outliers = 0.1;
  int settled = 0;
  constexpr int kRuns = 1000;
  for (int run = 0; run < kRuns; ++run) {
    const Screened screened = screen(evaluator, fake::Family::configuration("good", 1, 1), blank(),
                                     {.repetitions = 3, .prune_above = {}, .settle_above = 11.0});
    if (screened.measurement.times.size() < 3) ++settled;
  }
  CHECK(settled < 0.02 * kRuns);  // the warm-up and the first repetition are both disturbed in 1 % of all cases
}
