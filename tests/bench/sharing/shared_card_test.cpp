// A GPU that has other work besides: trainings whose blocks wait for each other end, and learn what they learn alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/bench/sharing/occupier.hpp"
#include "heddle/runtime/train/shuffle.hpp"
#include "heddle/runtime/train/sonfin_learner.hpp"

namespace heddle::bench {
namespace {

constexpr std::int64_t kSeed = 1;

LearningRows rows_of(std::int64_t count, std::int64_t dim, std::int64_t outputs) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
  LearningRows rows{.dim = dim, .outputs = outputs, .rows = {}, .targets = {}};
  for (std::int64_t i = 0; i < count * dim; ++i) rows.rows.push_back(uniform(generator));
  for (std::int64_t i = 0; i < count * outputs; ++i) rows.targets.push_back(uniform(generator));
  return rows;
}

struct Learnt {
  sonfin::Network network;
  std::set<std::string> schemes;  ///< of the configurations in use
};

Learnt learn(Device& device, const LearningRows& rows, std::int64_t rules) {
  SonfinLearner learner(device, {}, rows, rules, [](const std::string& line) { MESSAGE(line); });
  sonfin::Hyperparameters options;
  options.max_rules = rules;
  options.first_width = std::sqrt(static_cast<double>(rows.dim) / 12.0);
  learner.begin({.dim = rows.dim, .outputs = rows.outputs, .centres = {}, .widths = {}, .consequents = {}},
                sonfin::control(options, rows.count()), permutation(rows.count(), kSeed, 1), 0, 0.0);
  while (learner.advance()) {
  }
  Learnt learnt{.network = learner.network(), .schemes = {}};
  for (const SonfinLearner::Use& use : learner.uses()) {
    learnt.schemes.insert(std::string(learner.ladder()[use.rung].configuration().text()));
  }
  return learnt;
}

void check_equal(const Learnt& one, const Learnt& other) {
  REQUIRE(one.network.rules() == other.network.rules());
  CHECK(one.network.centres == other.network.centres);
  CHECK(one.network.widths == other.network.widths);
  CHECK(one.network.consequents == other.network.consequents);
}

/// Sizes that end in a cluster, and in a grid over the whole card.
const std::vector<std::pair<std::int64_t, std::int64_t>> kSizes{{257, 65}, {515, 701}};

TEST_CASE("two trainings at once learn what each learns alone") {
  const auto device = open_device("cuda:0");
  for (const auto& size : kSizes) {
    const std::int64_t rules = size.first, dim = size.second;
    CAPTURE(rules);
    const LearningRows rows = rows_of(6000, dim, 3);
    const Learnt alone = learn(*device, rows, rules);
    REQUIRE(alone.network.rules() > rules / 2);
    std::vector<Learnt> both(2);
    std::vector<std::string> failures(2);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < both.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          const auto own = open_device("cuda:0");
          both[i] = learn(*own, rows, rules);
        } catch (const Error& error) {
          failures[i] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < both.size(); ++i) {
      CHECK(failures[i] == "");
      check_equal(alone, both[i]);
    }
  }
}

TEST_CASE("a training beside work that holds half the multiprocessors learns what it learns alone") {
  const auto device = open_device("cuda:0");
  std::set<std::string> schemes;
  for (const auto& size : kSizes) {
    const std::int64_t rules = size.first, dim = size.second;
    CAPTURE(rules);
    const LearningRows rows = rows_of(6000, dim, 3);
    const Learnt alone = learn(*device, rows, rules);
    const auto other = open_device("cuda:0");
    Occupier occupier(*other, 0.5);
    const Learnt beside = learn(*device, rows, rules);
    CHECK_NOTHROW(occupier.stop());
    CHECK(occupier.launches() > 0);
    check_equal(alone, beside);
    schemes.insert(alone.schemes.begin(), alone.schemes.end());
  }
  const auto used = [&](const std::string& scheme) {
    return std::any_of(schemes.begin(), schemes.end(),
                       [&](const std::string& text) { return text.find("scheme=" + scheme) != std::string::npos; });
  };
  CHECK(used("cluster"));
  CHECK(used("grid"));
}

}  // namespace
}  // namespace heddle::bench
