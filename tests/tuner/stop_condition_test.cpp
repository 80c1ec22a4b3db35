#include "heddle/tuner/stop_condition.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("without a limit nothing stops a search but an interruption") {
  bool interrupted = false;
  StopCondition stop({}, [&] { return interrupted; });
  for (int i = 0; i < 1000; ++i) stop.count_evaluation();
  CHECK(!stop.reached());
  CHECK(!stop.seconds_left());
  CHECK(!stop.evaluations_left());
  interrupted = true;
  CHECK(stop.reached());
  CHECK(stop.interrupted());
}

TEST_CASE("time and evaluations each end it, and parts count for the whole") {
  double now = 100.0;
  StopCondition stop({.seconds = 10.0, .evaluations = 8}, {}, [&] { return now; });
  CHECK(*stop.seconds_left() == doctest::Approx(10.0));
  now += 2.0;
  StopCondition half = stop.slice(0.5, 0.5);
  CHECK(*half.seconds_left() == doctest::Approx(4.0));
  CHECK(*half.evaluations_left() == 4);
  for (int i = 0; i < 4; ++i) half.count_evaluation();
  CHECK(half.reached());
  CHECK(!stop.reached());
  CHECK(*stop.evaluations_left() == 4);
  StopCondition rest = stop.slice(1.0, 1.0);
  for (int i = 0; i < 4; ++i) stop.count_evaluation();
  CHECK(stop.reached());
  CHECK(rest.reached());

  StopCondition timed({.seconds = 1.0, .evaluations = {}}, {}, [&] { return now; });
  now += 0.9;
  CHECK(!timed.reached());
  now += 0.2;
  CHECK(timed.reached());
  CHECK(!timed.interrupted());
  CHECK(*timed.seconds_left() == 0.0);
}

TEST_CASE("a share that leaves some seconds to the whole ends so many before it, also after its own end") {
  double now = 0.0;
  StopCondition stop({.seconds = 10.0, .evaluations = {}}, {}, [&] { return now; });
  StopCondition share = stop.slice(0.5, 1.0);
  now = 6.0;
  CHECK(share.reached());
  share.leave_to_parent(1.0);
  CHECK(*share.seconds_left() == doctest::Approx(3.0));
  CHECK(!share.reached());
  share.leave_to_parent(20.0);
  CHECK(share.reached());
  StopCondition unlimited;
  StopCondition part = unlimited.slice(0.5, 1.0);
  part.leave_to_parent(1.0);
  CHECK(!part.seconds_left());
}

TEST_CASE("what was begun in a share of the time may take longer, but not than the whole, nor more evaluations") {
  double now = 0.0;
  bool interrupted = false;
  StopCondition stop(
      {.seconds = 10.0, .evaluations = 8}, [&] { return interrupted; }, [&] { return now; });
  StopCondition share = stop.slice(0.5, 0.5);
  StopCondition first = share.slice(0.5, 1.0);
  now = 6.0;
  CHECK(first.reached());
  CHECK(!first.must_abandon());
  CHECK(!share.must_abandon());
  interrupted = true;
  CHECK(first.must_abandon());
  interrupted = false;
  now = 10.0;
  CHECK(stop.must_abandon());
  CHECK(first.must_abandon());
  now = 6.0;
  for (int i = 0; i < 4; ++i) first.count_evaluation();
  CHECK(first.must_abandon());
  CHECK(!stop.must_abandon());
}

TEST_CASE("a budget of nothing is reached at once") {
  CHECK(StopCondition({.seconds = 0.0, .evaluations = {}}).reached());
  CHECK(StopCondition({.seconds = {}, .evaluations = 0}).reached());
}

TEST_CASE("a search without gain ends, but not before something worked") {
  StopCondition whole;
  StopCondition stop = whole.slice(1.0, 1.0);
  stop.end_early({.without_gain = 3, .good_enough = std::nullopt});
  for (int i = 0; i < 5; ++i) stop.observe(std::nullopt);
  CHECK(!stop.reached());
  for (const double cost : {5.0, 6.0, 5.0, 4.0, 4.0, 9.0}) {
    CHECK(!stop.reached());
    stop.observe(cost);
  }
  CHECK(!stop.reached());
  stop.observe(std::nullopt);
  CHECK(stop.reached());
  CHECK(!whole.reached());
}

TEST_CASE("a search that is good enough ends") {
  StopCondition stop;
  stop.end_early({.without_gain = std::nullopt, .good_enough = 2.0});
  stop.observe(2.1);
  CHECK(!stop.reached());
  stop.observe(2.0);
  CHECK(stop.reached());
  stop.observe(3.0);
  CHECK(stop.reached());
}
