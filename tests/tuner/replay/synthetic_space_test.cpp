#include "heddle/tuner/replay/synthetic_space.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "heddle/tuner/replay/search_benchmark.hpp"

using namespace heddle;

namespace {

std::size_t failing(const RecordedSpace& space) {
  return static_cast<std::size_t>(
      std::ranges::count_if(space.outcomes, [](const RecordedOutcome& outcome) { return !outcome.time; }));
}

/// How many configurations are at least `fraction` as fast as the fastest.
std::size_t fast(const RecordedSpace& space, double fraction) {
  return static_cast<std::size_t>(std::ranges::count_if(
      space.outcomes, [&](const RecordedOutcome& each) { return each.time && space.best() / *each.time >= fraction; }));
}

double reached(const SearchConstants& constants, std::int64_t evaluations) {
  constexpr std::uint64_t kSpaces = 4;
  SearchBenchmark options;
  options.seeds = 12;
  options.marks = {evaluations};
  options.constants = constants;
  double mean = 0.0;
  for (std::uint64_t seed = 1; seed <= kSpaces; ++seed) {
    const RecordedSpace space = synthetic_space(Landscape::flat, seed);
    mean += benchmark(space, strategy("portfolio"), options).front().mean_fraction / static_cast<double>(kSpaces);
  }
  return mean;
}

}  // namespace

TEST_CASE("a space follows from landscape and seed, has constraints and a part that fails") {
  for (const LandscapeEntry& entry : landscapes()) {
    CAPTURE(entry.name);
    const RecordedSpace space = synthetic_space(entry.landscape, 2);
    const RecordedSpace same = synthetic_space(entry.landscape, 2);
    const RecordedSpace other = synthetic_space(entry.landscape, 3);
    REQUIRE(space.configurations.size() == same.configurations.size());
    CHECK(space.configurations == same.configurations);
    CHECK(std::ranges::equal(space.outcomes, same.outcomes, {}, &RecordedOutcome::time, &RecordedOutcome::time));
    CHECK(other.best() != space.best());
    CHECK(space.configurations.size() > 1000);
    CHECK(space.configurations.size() < 20000);
    CHECK(failing(space) > 0);
    CHECK(failing(space) < space.configurations.size() / 2);
    std::set<std::string> texts;
    std::size_t full = 1;
    for (std::size_t i = 0; i < space.parameters.size(); ++i) {
      std::set<std::int64_t> values;
      for (const Configuration& one : space.configurations) values.insert(one.number(space.parameters[i]));
      full *= values.size();
    }
    for (const Configuration& one : space.configurations) texts.insert(one.text());
    CHECK(texts.size() == space.configurations.size());
    CHECK(full > space.configurations.size());
  }
}

TEST_CASE("landscapes are what they are called") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const RecordedSpace broad = synthetic_space(Landscape::broad, seed);
    CHECK(fast(broad, 0.7) * 30 > broad.configurations.size());
    for (const Landscape landscape : {Landscape::hidden, Landscape::flat, Landscape::scattered}) {
      const RecordedSpace rough = synthetic_space(landscape, seed);
      CHECK(fast(rough, 0.95) <= 20);
    }
    // Many are as fast as each other, and by far not the fastest.
    const RecordedSpace flat = synthetic_space(Landscape::flat, seed);
    CHECK(fast(flat, 0.65) > 8 * fast(flat, 0.85));
  }
}

TEST_CASE("a search leaves a level stretch of configurations that are as fast as each other") {
  // Without a gain that grows with the ties it stays there: most of a hundred evaluations go to more of the same.
  CHECK(reached({}, 100) > reached({.gain_per_tie = 0.0}, 100) + 0.04);
}
