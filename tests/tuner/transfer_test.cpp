#include "heddle/tuner/transfer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>

using namespace heddle;

namespace {

const std::vector<Axis> one_axis{{.name = "size", .weight = 1.0, .maximum = 1 << 20}};

Problem sized(std::int64_t size) { return Problem({{.name = "size", .value = size}}); }

std::vector<Configuration> space() {
  std::vector<Configuration> all;
  for (const char* scheme : {"narrow", "wide"}) {
    for (std::int64_t threads = 32; threads <= 1024; threads *= 2) {
      for (std::int64_t work = 1; work <= 16; work *= 2) {
        for (const std::int64_t vector : {1, 2, 4}) {
          std::vector<Configuration::Entry> entries{
              {"scheme", std::string(scheme)}, {"threads", threads}, {"work", work}, {"vector", vector}};
          if (std::string(scheme) == "wide") entries.emplace_back("depth", std::int64_t{2});
          all.emplace_back(entries);
        }
      }
    }
  }
  return all;
}

/// What is best moves with the size: more threads for larger ones, and the wide scheme from 512 on.
double cost(const Configuration& configuration, const Problem& problem) {
  const double size = std::log2(static_cast<double>(problem.at("size")));
  const double threads = std::log2(static_cast<double>(configuration.number("threads")));
  const double work = std::log2(static_cast<double>(configuration.number("work")));
  const double vector = static_cast<double>(configuration.number("vector"));
  const double wide = configuration.word("scheme") == "wide" ? 0.1 * (9.0 - size) : 0.0;
  return std::exp2(size) *
         (1.0 + 0.1 * std::abs(threads + work - size) + 0.03 * std::abs(work - 2.0) + 0.05 / vector + wide);
}

/// Loss of the best of the first `count` of an order.
double loss(const std::vector<Configuration>& all, const std::vector<float>& order, std::size_t count,
            const Problem& problem) {
  std::vector<std::size_t> index(all.size());
  for (std::size_t i = 0; i < index.size(); ++i) index[i] = i;
  std::stable_sort(index.begin(), index.end(), [&](std::size_t a, std::size_t b) { return order[a] < order[b]; });
  double best = std::numeric_limits<double>::infinity();
  double found = best;
  for (const Configuration& each : all) best = std::min(best, cost(each, problem));
  for (std::size_t i = 0; i < count; ++i) found = std::min(found, cost(all[index[i]], problem));
  return found / best - 1.0;
}

Transfer taught(std::uint64_t seed, std::size_t trials) {
  Transfer transfer(one_axis);
  std::mt19937_64 random(seed);
  const auto all = space();
  for (std::int64_t size = 64; size <= 4096; size *= 4) {
    Transfer::Costs costs;
    for (std::size_t i = 0; i < trials; ++i) {
      const Configuration& each = all[random() % all.size()];
      costs.emplace_back(each, cost(each, sized(size)));
    }
    transfer.learn(sized(size), costs);
  }
  return transfer;
}

}  // namespace

TEST_CASE("what is fast at a size in between is expected from what was measured around it") {
  const auto all = space();
  double mean = 0.0, of_random = 0.0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Transfer transfer = taught(seed, 24);
    for (const std::int64_t size : {128, 512, 2048}) {
      const auto expected = transfer.expected(sized(size), all);
      REQUIRE(expected.size() == all.size());
      mean += loss(all, expected, 5, sized(size)) / 60.0;
      std::mt19937_64 random(seed);
      std::vector<float> shuffled;
      for (std::size_t i = 0; i < all.size(); ++i) shuffled.push_back(static_cast<float>(random() >> 40));
      of_random += loss(all, shuffled, 5, sized(size)) / 60.0;
    }
  }
  CHECK(mean < 0.03);
  CHECK(mean < 0.3 * of_random);
}

TEST_CASE("what was measured at the problem itself counts most") {
  const auto all = space();
  Transfer transfer = taught(1, 24);
  Transfer::Costs costs;
  // The other way round than what the other problems say.
  const auto contrary = [](const Configuration& c) { return 0.08 * (10.0 - std::log2(c.number("threads"))); };
  for (std::size_t i = 0; i < all.size(); i += 2) costs.emplace_back(all[i], std::exp(contrary(all[i])));
  transfer.learn(sized(500), costs);
  const auto expected = transfer.expected(sized(500), all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(std::abs(static_cast<double>(expected[i]) - contrary(all[i])) < 0.1);
  }
}

TEST_CASE("the last cost of a configuration counts, in any unit, and too little says nothing") {
  const auto all = space();
  Transfer transfer(one_axis);
  CHECK(transfer.expected(sized(64), all).empty());
  transfer.learn(sized(64), {});
  transfer.learn(sized(64), {{all[0], 1.0}, {all[1], 2.0}});
  CHECK(transfer.expected(sized(64), all).empty());

  Transfer direct(one_axis), corrected(one_axis);
  Transfer::Costs costs, wrong, thousandfold;
  for (std::size_t i = 0; i < 40; ++i) {
    const Configuration& each = all[i * 7 % all.size()];
    costs.emplace_back(each, cost(each, sized(64)));
    wrong.emplace_back(each, static_cast<double>(40 - i));
    thousandfold.emplace_back(each, 1000.0 * costs.back().second);
  }
  direct.learn(sized(64), costs);
  corrected.learn(sized(64), wrong);
  corrected.learn(sized(64), thousandfold);
  const auto expected = direct.expected(sized(100), all);
  const auto same = corrected.expected(sized(100), all);
  REQUIRE(expected.size() == same.size());
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(std::abs(expected[i] - same[i]) < 1e-4F);
  CHECK(direct.expected(sized(100), all) == expected);
  CHECK(direct.expected(sized(100), {}).empty());

  // What is no time says nothing.
  direct.learn(sized(100), {{all[0], 0.0}, {all[1], -1.0}, {all[2], std::numeric_limits<double>::infinity()}});
  CHECK(direct.expected(sized(100), all) == expected);
}

TEST_CASE("a model is believed until something is measured, and corrected by what was") {
  const auto all = space();
  // Knows nothing of vectors, is twice too large, and has no idea of wide ones.
  const Transfer::Model rough = [](const Configuration& c, const Problem& p) -> std::optional<double> {
    if (c.word("scheme") == "wide") return std::nullopt;
    const double vector = static_cast<double>(c.number("vector"));
    return 2.0 * (cost(c, p) - 0.05 / vector * static_cast<double>(p.at("size")));
  };
  Transfer untaught(one_axis, rough);
  const auto believed = untaught.expected(sized(500), all);
  REQUIRE(believed.size() == all.size());
  CHECK(*std::min_element(believed.begin(), believed.end()) == 0.0F);
  CHECK(untaught.expected(sized(500), {}).empty());
  double least = std::numeric_limits<double>::infinity();
  for (const Configuration& each : all) least = std::min(least, rough(each, sized(500)).value_or(least));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto modelled = rough(all[i], sized(500));
    const double loss = modelled ? std::log(*modelled / least) : 0.5;
    CHECK(std::abs(static_cast<double>(believed[i]) - loss) < 1e-5);
  }

  const Transfer::Model all_but_vectors = [](const Configuration& c, const Problem& p) -> std::optional<double> {
    return 2.0 * (cost(c, p) - 0.05 / static_cast<double>(c.number("vector")) * static_cast<double>(p.at("size")));
  };
  double with = 0.0, with_gaps = 0.0, without = 0.0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Transfer modelled(one_axis, all_but_vectors), gaps(one_axis, rough), plain(one_axis);
    std::mt19937_64 random(seed);
    for (std::int64_t size = 64; size <= 4096; size *= 4) {
      Transfer::Costs costs;
      for (std::size_t i = 0; i < 8; ++i) {
        const Configuration& each = all[random() % all.size()];
        costs.emplace_back(each, cost(each, sized(size)));
      }
      for (Transfer* each : {&modelled, &gaps, &plain}) each->learn(sized(size), costs);
    }
    for (const std::int64_t size : {128, 512, 2048}) {
      with += loss(all, modelled.expected(sized(size), all), 5, sized(size)) / 60.0;
      with_gaps += loss(all, gaps.expected(sized(size), all), 5, sized(size)) / 60.0;
      without += loss(all, plain.expected(sized(size), all), 5, sized(size)) / 60.0;
    }
  }
  CHECK(with < 0.25 * without);
  CHECK(with_gaps < without);

  // Measured at the problem itself: twice as fast as modelled, or not quite.
  Transfer::Costs contrary;
  for (const Configuration& each : all) {
    const auto modelled = rough(each, sized(500));
    if (modelled) contrary.emplace_back(each, (each.number("vector") == 4 ? 0.65 : 0.5) * *modelled);
  }
  untaught.learn(sized(500), contrary);
  const auto corrected = untaught.expected(sized(500), all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto modelled = rough(all[i], sized(500));
    if (!modelled) continue;
    const double expected = std::log(*modelled / least) + (all[i].number("vector") == 4 ? std::log(1.3) : 0.0);
    CHECK(std::abs(static_cast<double>(corrected[i]) - expected) < 0.12);
  }
}

TEST_CASE("what a model has no estimate for is expected to be slow until something like it was fast") {
  const auto all = space();
  const Transfer::Model narrow = [](const Configuration& c, const Problem& p) -> std::optional<double> {
    return c.word("scheme") == "wide" ? std::nullopt : std::optional(cost(c, p));
  };
  const auto fastest_wide = [&](const Transfer& transfer) {
    const auto expected = transfer.expected(sized(512), all);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].word("scheme") == "wide") least = std::min(least, static_cast<double>(expected[i]));
    }
    return least;
  };
  Transfer transfer(one_axis, narrow);
  Transfer::Costs costs;
  for (const Configuration& each : all) {
    if (each.word("scheme") == "narrow") costs.emplace_back(each, cost(each, sized(512)));
  }
  transfer.learn(sized(512), costs);
  CHECK(fastest_wide(transfer) > 0.4);
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [configuration, seconds] : costs) best = std::min(best, seconds);
  const auto wide = std::ranges::find_if(all, [](const Configuration& c) { return c.word("scheme") == "wide"; });
  transfer.learn(sized(512), {{*wide, 0.9 * best}});
  CHECK(fastest_wide(transfer) < 0.05);
}

TEST_CASE("configurations are alike as far as their values are") {
  const auto entries = [](std::int64_t threads, std::int64_t vector, const char* scheme) {
    return Configuration({{"scheme", std::string(scheme)}, {"threads", threads}, {"vector", vector}});
  };
  const Configuration one = entries(64, 1, "narrow");
  CHECK(likeness(one, one) == 1.0);
  const double near = likeness(one, entries(64, 2, "narrow")), far = likeness(one, entries(512, 2, "narrow"));
  CHECK(near < 1.0);
  CHECK(far < near);
  CHECK(likeness(one, entries(64, 1, "wide")) < near);
  // A parameter that only one of them has, whichever that is.
  const Configuration longer({{"scheme", std::string("narrow")},
                              {"threads", std::int64_t{64}},
                              {"vector", std::int64_t{1}},
                              {"depth", std::int64_t{2}}});
  CHECK(likeness(one, longer) == likeness(longer, one));
  CHECK(likeness(one, longer) < near);
}
