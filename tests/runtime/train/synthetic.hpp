// Small data sets to train on, from a seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "heddle/runtime/data/dataset.hpp"

namespace heddle::test {

/// Gaussian clusters, three for each class; `noise`: fraction of labels drawn at random. Rows of one `world` come from
/// the same clusters, whatever the seed.
inline Dataset clusters(std::int64_t rows, std::int64_t dim, std::int32_t classes, std::uint32_t seed,
                        double noise = 0.0, std::uint32_t world = 7) {
  std::mt19937 layout(world), random(seed);
  std::uniform_real_distribution<float> place(-10.0F, 10.0F);
  std::normal_distribution<float> scatter(0.0F, 2.0F);
  std::vector<float> centres(static_cast<std::size_t>(3 * classes * dim));
  for (float& value : centres) value = place(layout);

  Dataset data;
  data.source = "clusters";
  data.dim = dim;
  for (std::int32_t c = 0; c < classes; ++c) data.classes.push_back(std::string(1, static_cast<char>('a' + c)));
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t cluster = static_cast<std::int64_t>(random() % static_cast<unsigned>(3 * classes));
    for (std::int64_t j = 0; j < dim; ++j) {
      data.inputs.push_back(centres[static_cast<std::size_t>(cluster * dim + j)] + scatter(random));
    }
    const bool wrong = random() % 1000 < static_cast<unsigned>(1000.0 * noise);
    data.labels.push_back(wrong ? static_cast<std::int32_t>(random() % static_cast<unsigned>(classes))
                                : static_cast<std::int32_t>(cluster % classes));
  }
  return data;
}

/// Two smooth functions of `dim` inputs, in units of their own.
inline Dataset curves(std::int64_t rows, std::int64_t dim, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-2.0F, 2.0F);
  Dataset data;
  data.source = "curves";
  data.task = Task::regress;
  data.dim = dim;
  data.targets_per_row = 2;
  for (std::int64_t i = 0; i < rows; ++i) {
    float sum = 0.0F, first = 0.0F;
    for (std::int64_t j = 0; j < dim; ++j) {
      const float x = uniform(random);
      if (j == 0) first = x;
      sum += x;
      data.inputs.push_back(x);
    }
    data.targets.push_back(1000.0F + 50.0F * std::sin(sum));
    data.targets.push_back(-0.01F * first * first);
  }
  return data;
}

}  // namespace heddle::test
