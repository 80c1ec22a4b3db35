#include "heddle/tuner/strategy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "fake_family.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/tuner/space/listed_space.hpp"

using namespace heddle;

namespace {

std::vector<Configuration> some(std::size_t count) {
  auto all = fake::Family().space(fake::identity()).enumerate(fake::problem(1000));
  all.resize(std::min(count, all.size()));
  return all;
}

double cost(std::size_t configuration) { return static_cast<double>((configuration * 7919) % 101); }

/// Everything a strategy proposes, observing now and then.
std::vector<std::size_t> path(const StrategyEntry& entry, const std::vector<Configuration>& list, std::uint64_t seed,
                              const std::set<std::size_t>& known) {
  ListedSpace space(list);
  const auto strategy = entry.make({.space = space, .seed = seed});
  for (const std::size_t index : known) strategy->observe(index, {.status = Status::unverified, .cost = cost(index)});
  std::mt19937_64 random(seed);
  std::vector<std::size_t> proposed;
  std::size_t observed = 0;
  while (true) {
    const std::size_t most = 1 + random() % 9;
    const auto next = strategy->next(most);
    REQUIRE(next.size() <= most);
    proposed.insert(proposed.end(), next.begin(), next.end());
    const bool behind = next.empty() && observed < proposed.size();
    if (next.empty() && !behind) break;
    for (std::size_t n = behind ? proposed.size() - observed : random() % 9; n > 0 && observed < proposed.size(); --n) {
      const std::size_t index = proposed[observed++];
      if (index % 5 == 0) {
        strategy->observe(index, {.status = Status::launch, .cost = std::nullopt});
      } else {
        strategy->observe(index, {.status = Status::unverified, .cost = cost(index)});
      }
    }
  }
  return proposed;
}

}  // namespace

TEST_CASE("every strategy proposes valid configurations, none twice, and exhausts small spaces") {
  for (const StrategyEntry& entry : strategies()) {
    CAPTURE(entry.name);
    for (const std::size_t count : {0U, 1U, 2U, 37U, 200U}) {
      const auto list = some(count);
      REQUIRE(list.size() == count);
      for (const std::uint64_t seed : {1U, 2U, 77U}) {
        const std::set<std::size_t> known = count > 2 ? std::set<std::size_t>{0, count / 2} : std::set<std::size_t>{};
        const auto proposed = path(entry, list, seed, known);
        const std::set<std::size_t> once(proposed.begin(), proposed.end());
        CHECK(once.size() == proposed.size());
        CHECK(once.size() == count - known.size());
        CHECK(std::all_of(once.begin(), once.end(), [&](std::size_t i) { return i < count && !known.contains(i); }));
      }
    }
  }
}

TEST_CASE("the same seed gives the same path") {
  const auto list = some(150);
  for (const StrategyEntry& entry : strategies()) {
    CAPTURE(entry.name);
    CHECK(path(entry, list, 5, {3}) == path(entry, list, 5, {3}));
  }
  CHECK(path(strategy("random"), list, 5, {}) != path(strategy("random"), list, 6, {}));
}

TEST_CASE("a strategy that is told what was observed goes on where that search was") {
  ListedSpace space(some(200));
  const auto outcome = [](std::size_t index) {
    if (index % 7 == 0) return Observation{.status = Status::launch, .cost = std::nullopt};
    return Observation{.status = Status::unverified, .cost = cost(index)};
  };
  for (const StrategyEntry& entry : strategies()) {
    CAPTURE(entry.name);
    const auto first = entry.make({.space = space, .seed = 3});
    std::vector<std::size_t> whole;
    for (int i = 0; i < 80; ++i) {
      whole.push_back(first->next(1).at(0));
      first->observe(whole.back(), outcome(whole.back()));
    }
    for (const std::size_t known : {1U, 4U, 11U, 50U}) {
      const auto second = entry.make({.space = space, .seed = 3});
      for (std::size_t i = 0; i < known; ++i) second->observe(whole[i], outcome(whole[i]));
      std::vector<std::size_t> rest(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(known));
      while (rest.size() < whole.size()) {
        rest.push_back(second->next(1).at(0));
        second->observe(rest.back(), outcome(rest.back()));
      }
      CHECK(rest == whole);
    }
  }
}

TEST_CASE("random tries what two problems share in the same order") {
  const auto large = some(200);
  std::vector<Configuration> small;
  for (std::size_t i = 0; i < large.size(); i += 3) small.push_back(large[i]);
  const auto order = [](const std::vector<Configuration>& list) {
    std::vector<std::string> texts;
    for (const std::size_t index : path(strategy("random"), list, 9, {})) texts.push_back(list[index].text());
    return texts;
  };
  auto wanted = order(large);
  const auto found = order(small);
  std::erase_if(wanted, [&](const std::string& text) {
    return std::none_of(small.begin(), small.end(), [&](const Configuration& c) { return c.text() == text; });
  });
  CHECK(found == wanted);
}

TEST_CASE("an unknown strategy is named beside those there are") {
  try {
    (void)strategy("clever");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(std::string(error.what()).find("'clever'") != std::string::npos);
    CHECK(std::string(error.what()).find("exhaustive") != std::string::npos);
  }
}
