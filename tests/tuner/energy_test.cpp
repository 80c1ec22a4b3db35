#include "heddle/tuner/energy.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace heddle;

namespace {

/// A card whose launches take `seconds` and whose counter shows, every `period` seconds, what it has taken.
struct Card {
  double seconds = 1e-3, watts = 500.0, period = 0.1, idle_watts = 80.0;
  double now = 3.0;
  double taken = 1000.0, shown = 1000.0, next_show = 3.0;
  int launches = 0;

  void pass(double time, double power) {
    for (; now + time >= next_show; next_show += period) {
      const double part = std::max(0.0, next_show - now);
      taken += part * power;
      now += part;
      time -= part;
      shown = std::floor(taken * 1e3) / 1e3;
    }
    taken += time * power;
    now += time;
  }
  EnergySource source() {
    return {.joules = [this]() -> std::optional<double> {
              pass(1e-4, idle_watts);  // reading takes time as well
              return shown;
            },
            .launch =
                [this] {
                  ++launches;
                  pass(seconds, watts);
                },
            .wait = [] {},
            .now = [this] { return now; }};
  }
};

}  // namespace

TEST_CASE("the energy of a launch is found to 2 %, however long it takes") {
  for (const double seconds : {2e-5, 1e-3, 4e-3, 0.03}) {
    for (const double period : {0.02, 0.1}) {
      Card card{.seconds = seconds, .period = period};
      const auto joules = joules_of_launch(card.source());
      CAPTURE(seconds);
      CAPTURE(period);
      REQUIRE(joules);
      const double longest = std::max(0.02, 1.5 * seconds);  // a look may be a launch
      CHECK(*joules == doctest::Approx(seconds * card.watts).epsilon(longest));
      CHECK(card.now < 3.0 + 2.5);
    }
  }
}

TEST_CASE("where there is no counter, or a dead one, there is no energy") {
  Card card;
  EnergySource none = card.source();
  none.joules = [] { return std::nullopt; };
  CHECK(!joules_of_launch(none));
  CHECK(card.launches == 0);
  EnergySource dead = card.source();
  dead.joules = [] { return std::optional(7.0); };
  CHECK(!joules_of_launch(dead));
  CHECK(card.now < 3.0 + 11.0);
}
