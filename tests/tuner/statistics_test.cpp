#include "heddle/tuner/statistics.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <vector>

using namespace heddle;

TEST_CASE("median and spread do not care about order or one outlier") {
  CHECK(median(std::vector{3.0}) == 3.0);
  CHECK(median(std::vector{4.0, 1.0, 900.0, 2.0}) == 3.0);
  CHECK(median(std::vector{5.0, 1.0, 3.0}) == 3.0);
  CHECK(half_interquartile_range(std::vector{1.0, 2.0, 3.0, 4.0, 5.0}) == 1.0);
  CHECK(half_interquartile_range(std::vector{7.0}) == 0.0);
}

TEST_CASE("clearly slower needs a difference and enough rounds that agree") {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0.0, 0.01);
  const auto sample = [&](double mean, int rounds) {
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(rounds));
    for (int i = 0; i < rounds; ++i) values.push_back(mean * (1.0 + noise(random)));
    return values;
  };
  CHECK(clearly_slower(sample(1.2, 9), sample(1.0, 9)));
  CHECK(!clearly_slower(sample(1.0, 9), sample(1.2, 9)));
  CHECK(clearly_slower(sample(1.2, 5), sample(1.0, 5)));
  CHECK(!clearly_slower(sample(1.2, 4), sample(1.0, 4)));  // chance does this twice in 70 tries
  CHECK(!clearly_slower(std::vector{1.2, 1.2, 1.2, 1.2, 0.9}, std::vector(5, 1.0)));
  // Who has dropped out is compared in the rounds that both had.
  CHECK(clearly_slower(std::vector(5, 1.2), std::vector{1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0, 1.0, 1.0}));
  CHECK(!clearly_slower(std::vector<double>(31, 1.009), std::vector<double>(31, 1.0)));
  CHECK(clearly_slower(std::vector<double>(31, 1.011), std::vector<double>(31, 1.0)));
  CHECK(!clearly_slower(std::vector<double>{}, std::vector<double>{}));

  for (const int rounds : {5, 9, 31}) {
    CAPTURE(rounds);
    int wrong = 0;
    for (int i = 0; i < 1000; ++i) wrong += clearly_slower(sample(1.0, rounds), sample(1.0, rounds)) ? 1 : 0;
    CHECK(wrong < 15);
  }

  CHECK(equally_fast(std::vector(9, 1.004), std::vector(9, 1.0)));
  CHECK(equally_fast(std::vector(9, 1.0), std::vector(9, 1.004)));
  CHECK(!equally_fast(std::vector(8, 1.0), std::vector(9, 1.0)));
  CHECK(!equally_fast(std::vector(9, 1.0), std::vector(9, 1.02)));
  CHECK(!equally_fast(std::vector(9, 1.02), std::vector(9, 1.0)));
  CHECK(!equally_fast(sample(1.0, 31), sample(1.0, 31)));  // too noisy to say so
}
