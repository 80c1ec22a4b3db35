#include "heddle/tuner/space/drawn_space.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "heddle/kernels/error.hpp"
#include "heddle/tuner/space/listed_space.hpp"
#include "heddle/tuner/strategy.hpp"

using namespace heddle;

namespace {

constexpr std::int64_t kDigits = 11;

std::string digit(std::int64_t place) { return "d" + std::to_string(place); }

/// 11 digits, 10^11 configurations; the sum of neighbouring digits is at most 9 + slack: 18 allows everything.
SearchSpace digits(std::int64_t count, std::int64_t slack) {
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  for (std::int64_t place = 0; place < count; ++place) {
    std::vector<Value> values;
    for (std::int64_t value = 0; value < 10; ++value) values.emplace_back(value);
    parameters.push_back({.name = digit(place), .values = values, .meaning = "", .active = {}});
    if (place == 0) continue;
    constraints.push_back({.name = "neighbours of " + digit(place),
                           .last = digit(place),
                           .holds = [place, slack](const Configuration& c, const Problem&, const DeviceIdentity&) {
                             return c.number(digit(place)) + c.number(digit(place - 1)) <= 9 + slack;
                           }});
  }
  return {DeviceIdentity{}, std::move(parameters), std::move(constraints)};
}

/// The number of configurations of digits(), by dynamic programming.
double count_of(std::int64_t count, std::int64_t slack) {
  std::vector<double> ending(10, 1.0);
  for (std::int64_t place = 1; place < count; ++place) {
    std::vector<double> longer(10, 0.0);
    for (std::int64_t a = 0; a < 10; ++a) {
      for (std::int64_t b = 0; b < 10; ++b) {
        if (a + b <= 9 + slack) longer[static_cast<std::size_t>(b)] += ending[static_cast<std::size_t>(a)];
      }
    }
    ending = longer;
  }
  double sum = 0.0;
  for (const double each : ending) sum += each;
  return sum;
}

Problem any_problem() { return Problem({{.name = "size", .value = 1}}); }

/// The best is 3 everywhere.
double cost(const Configuration& configuration) {
  double sum = 1.0;
  for (const auto& [name, value] : configuration.entries()) {
    sum += static_cast<double>(std::abs(std::get<std::int64_t>(value) - 3));
  }
  return sum;
}

}  // namespace

TEST_CASE("a space of 10^11 configurations is not listed, and their number is estimated") {
  const auto all = candidate_space(digits(kDigits, 9), any_problem());
  CHECK(!all->listed());
  CHECK(!all->count().exact);
  CHECK(all->count().configurations == doctest::Approx(1e11));  // no constraint: every descent has the same weight
  CHECK(all->numbered() == 0);
  const auto some = candidate_space(digits(kDigits, 3), any_problem());
  CHECK(!some->listed());
  CHECK(some->count().configurations == doctest::Approx(count_of(kDigits, 3)).epsilon(0.1));
  const auto few = candidate_space(digits(4, 3), any_problem());
  CHECK(few->listed());
  CHECK(few->count().configurations == count_of(4, 3));
}

TEST_CASE("configurations of a large space are drawn, checked, and have neighbours") {
  const SearchSpace description = digits(kDigits, 3);
  const auto space = candidate_space(description, any_problem());
  Draw draw(1, 2, 3);
  std::set<std::string> texts;
  for (int i = 0; i < 50; ++i) {
    const auto drawn = space->draw(draw);
    REQUIRE(drawn.has_value());
    const Configuration configuration = space->configuration(*drawn);
    CHECK(!description.violated(configuration, any_problem()).has_value());
    CHECK(description.parse(configuration.text()) == configuration);
    CHECK(space->find(configuration) == *drawn);
    texts.insert(configuration.text());
  }
  CHECK(texts.size() == 50);

  std::string forbidden;
  for (std::int64_t place = 0; place < kDigits; ++place) forbidden += (place == 0 ? "" : " ") + digit(place) + "=9";
  CHECK(!space->find(description.parse(forbidden)).has_value());

  const auto middle = space->find(description.parse("d0=5 d1=5 d2=5 d3=5 d4=5 d5=5 d6=5 d7=5 d8=5 d9=5 d10=5"));
  REQUIRE(middle.has_value());
  const auto near = space->neighbours(*middle);
  // Every other value of every digit; 8 and 9 need other values of the digits beside them.
  CHECK(near.size() == 9 * kDigits);
  CHECK(std::set<std::size_t>(near.begin(), near.end()).size() == near.size());
  CHECK(std::is_sorted(near.begin(), near.end(), [&](std::size_t a, std::size_t b) {
    return space->distance(*middle, a) < space->distance(*middle, b);
  }));
  std::size_t alone = 0;
  for (const std::size_t each : near) {
    CHECK(!description.violated(space->configuration(each), any_problem()).has_value());
    std::size_t differing = 0;
    for (std::size_t p = 0; p < space->parameters().size(); ++p) {
      if (space->levels(each)[p] != space->levels(*middle)[p]) ++differing;
    }
    CHECK(differing >= 1);
    if (differing == 1) ++alone;
  }
  CHECK(alone == 7 * kDigits);
}

TEST_CASE("draws are about equally likely, though descents are not") {
  // Under d0=0 there are ten configurations, under d0=9 one: a plain descent would draw "d0=9 d1=0" every tenth time.
  DrawnSpace space(digits(2, 0), any_problem());
  Draw draw(4, 5, 6);
  std::size_t corner = 0;
  constexpr std::size_t kDraws = 2000;
  for (std::size_t i = 0; i < kDraws; ++i) {
    if (space.configuration(space.draw(draw).value()).number("d0") == 9) ++corner;
  }
  CHECK(space.numbered() == 55);
  CHECK(corner < kDraws * 2 / 55);
}

TEST_CASE("a small space that is drawn from has the neighbours that it would have if it were listed") {
  const SearchSpace description = digits(3, 9);
  DrawnSpace drawn(description, any_problem());
  ListedSpace listed(description.enumerate(any_problem()));
  const Configuration from = description.parse("d0=4 d1=0 d2=9");
  const auto texts = [](CandidateSpace& space, std::size_t number) {
    std::set<std::string> result;
    for (const std::size_t each : space.neighbours(number)) result.insert(space.configuration(each).text());
    return result;
  };
  CHECK(texts(drawn, drawn.find(from).value()) == texts(listed, listed.find(from).value()));
}

TEST_CASE("parameters of very many values have neighbours that are found in a moment, and none once the time is over") {
  std::vector<Value> values;
  for (std::int64_t i = 1; i <= 1700; ++i) values.emplace_back(i);
  std::size_t asked = 0;
  const auto sum = [&](const Configuration& c, const Problem&, const DeviceIdentity&) {
    ++asked;
    return (7919 * c.number("a") + 104729 * c.number("b") + 1299709 * c.number("c")) % 1009 == 3;
  };
  const auto parameter = [&](const char* name) {
    return Parameter{.name = name, .values = values, .meaning = "", .active = {}};
  };
  const SearchSpace description({}, {parameter("a"), parameter("b"), parameter("c")},
                                {{.name = "sum", .last = "c", .holds = sum}});
  bool over = false;
  DrawnSpace space(description, any_problem(), [&] { return over; });
  Draw draw(1, 2, 3);
  asked = 0;
  const auto first = space.draw(draw);
  REQUIRE(first.has_value());
  CHECK(asked < 20000);  // about one in a thousand is allowed
  asked = 0;
  const auto near = space.neighbours(*first);
  CHECK(near.size() > DrawnSpace::kMostNeighbours / 4);
  CHECK(near.size() <= DrawnSpace::kMostNeighbours);
  CHECK(asked < DrawnSpace::kMostNeighbours * 2100);  // not once for each of 5000 values and all that follow
  asked = 0;
  CHECK(space.neighbours(*first) == near);
  CHECK(asked == 0);
  const auto second = space.draw(draw);
  REQUIRE(second.has_value());
  over = true;
  asked = 0;
  CHECK_FALSE(space.draw(draw));
  CHECK(space.neighbours(*second).empty());
  CHECK(asked < 1000);
}

TEST_CASE("strategies search a large space, none twice, and guided ones approach its best") {
  for (const StrategyEntry& entry : strategies()) {
    CAPTURE(entry.name);
    const auto space = candidate_space(digits(kDigits, 3), any_problem());
    if (entry.name == "exhaustive") {
      CHECK_THROWS_AS((void)entry.make({.space = *space, .seed = 1}), Error);
      continue;
    }
    const auto strategy = entry.make({.space = *space, .seed = 1});
    std::set<std::size_t> proposed;
    double best = 1e9;
    for (int step = 0; step < 120; ++step) {
      const auto next = strategy->next(1);
      REQUIRE(next.size() == 1);
      REQUIRE(proposed.insert(next.front()).second);
      const Configuration configuration = space->configuration(next.front());
      REQUIRE(space->find(configuration) == next.front());
      best = std::min(best, cost(configuration));
      strategy->observe(next.front(), {.status = Status::unverified, .cost = cost(configuration)});
    }
    CHECK(space->numbered() < 200000);
    if (entry.name != "random" && entry.name != "genetic") CHECK(best < 15.0);
  }
}

TEST_CASE("a space with few configurations among 10^11 is neither listed for ever nor drawn from for ever") {
  const auto constrained = [](std::vector<Constraint> constraints) {
    return SearchSpace(DeviceIdentity{}, digits(kDigits, 9).parameters(), std::move(constraints));
  };
  // Only nines add up to 99, which shows with the last digit alone.
  const auto sum = [](const Configuration& c, const Problem&, const DeviceIdentity&) {
    std::int64_t all = 0;
    for (const auto& [name, value] : c.entries()) all += std::get<std::int64_t>(value);
    return all == 9 * kDigits;
  };
  const auto nines =
      candidate_space(constrained({{.name = "sum", .last = digit(kDigits - 1), .holds = sum}}), any_problem());
  CHECK(!nines->listed());
  Draw draw(1, 1, 1);
  for (int i = 0; i < 1000; ++i) CHECK(!nines->draw(draw));
  std::vector<Configuration::Entry> entries;
  for (std::int64_t place = 0; place < kDigits; ++place) entries.emplace_back(digit(place), std::int64_t{9});
  CHECK(nines->find(Configuration(entries)).has_value());

  // One in a million: the last six digits repeat the first. Most descents fail, a walk that turns back does not.
  std::vector<Constraint> repeats;
  for (std::int64_t place = 0; place < 6; ++place) {
    repeats.push_back({.name = "repeat " + digit(place),
                       .last = digit(kDigits - 6 + place),
                       .holds = [place](const Configuration& c, const Problem&, const DeviceIdentity&) {
                         return c.number(digit(place)) == c.number(digit(kDigits - 6 + place)) ||
                                (place == 5 && c.number(digit(kDigits - 1)) == 0);
                       }});
  }
  const auto repeated = candidate_space(constrained(repeats), any_problem());
  std::set<std::size_t> drawn;
  for (int i = 0; i < 10; ++i) drawn.insert(repeated->draw(draw).value());
  CHECK(drawn.size() == 10);
}

TEST_CASE("a constraint that may be foreseen ends branches before its last parameter is known") {
  std::size_t asked = 0;
  Constraint sum{.name = "sum", .last = digit(kDigits - 1), .holds = {}};
  const auto of = [](const Configuration& c) {
    std::int64_t all = 0;
    for (const auto& [name, value] : c.entries()) all += std::get<std::int64_t>(value);
    return all;
  };
  sum.holds = [of](const Configuration& c, const Problem&, const DeviceIdentity&) { return of(c) == 1; };
  sum.may_hold = [of, &asked](const Configuration& c, const Problem&, const DeviceIdentity&) {
    ++asked;
    return of(c) <= 1;
  };
  for (std::int64_t place = 0; place + 1 < kDigits; ++place) sum.foresees.push_back(digit(place));
  const SearchSpace space(DeviceIdentity{}, digits(kDigits, 9).parameters(), {sum});
  CHECK(space.enumerate(any_problem()).size() == kDigits);
  CHECK(asked < 2000);  // of 10^11 configurations
  CHECK(space.estimate(any_problem(), 1000) == doctest::Approx(11.0).epsilon(0.2));
}

TEST_CASE("a space is not listed any longer than somebody waits for it") {
  const SearchSpace space = digits(4, 18);
  CHECK(ListedSpace::list(space, any_problem(), 10000, 1000000, [] { return false; }) != nullptr);
  CHECK(ListedSpace::list(space, any_problem(), 10000, 1000000, [] { return true; }) == nullptr);
}
