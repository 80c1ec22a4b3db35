#include "heddle/runtime/train/tsk_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/lapack.hpp"
#include "heddle/runtime/train/shuffle.hpp"

namespace heddle {
namespace {

double squared_distance(const float* a, const float* b, std::int64_t dim) {
  constexpr std::int64_t kParts = 8;  // sums that do not wait for each other
  double parts[kParts] = {};
  const auto add = [&](std::int64_t j, double& sum) {
    const double difference = static_cast<double>(a[j]) - static_cast<double>(b[j]);
    sum += difference * difference;
  };
  std::int64_t j = 0;
  for (; j + kParts <= dim; j += kParts) {
    for (std::int64_t i = 0; i < kParts; ++i) add(j + i, parts[i]);
  }
  for (; j < dim; ++j) add(j, parts[0]);
  return std::accumulate(parts, parts + kParts, 0.0);
}

struct Nearest {
  std::int64_t index = 0;
  double squared = std::numeric_limits<double>::infinity();
};
Nearest nearest(const float* x, const std::vector<float>& centres, std::int64_t dim, std::int64_t but = -1) {
  Nearest found;
  for (std::int64_t k = 0; k * dim < static_cast<std::int64_t>(centres.size()); ++k) {
    const double squared = k == but ? found.squared : squared_distance(x, centres.data() + k * dim, dim);
    if (squared < found.squared) found = {k, squared};
  }
  return found;
}

/// The centre nearest to each row: |c|^2 - 2 x c in float32, a block of rows at a time as a product of matrices.
std::vector<std::int64_t> nearest_of_all(const std::vector<float>& rows, const std::vector<float>& centres,
                                         std::int64_t dim) {
  constexpr std::int64_t kBlock = 512;
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / dim;
  const std::int64_t rules = static_cast<std::int64_t>(centres.size()) / dim;
  std::vector<float> lengths(at(rules));
  for (std::int64_t k = 0; k < rules; ++k) {
    const float* centre = centres.data() + k * dim;
    lengths[at(k)] = std::inner_product(centre, centre + dim, centre, 0.0F);
  }
  std::vector<float> products(at(kBlock * rules));
  std::vector<std::int64_t> found(at(count));
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const std::int64_t here = std::min(kBlock, count - first);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(here), static_cast<int>(rules),
                static_cast<int>(dim), -2.0F, rows.data() + first * dim, static_cast<int>(dim), centres.data(),
                static_cast<int>(dim), 0.0F, products.data(), static_cast<int>(rules));
    for (std::int64_t i = 0; i < here; ++i) {
      const float* product = products.data() + i * rules;
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < rules; ++k) {
        if (product[k] + lengths[at(k)] < product[best] + lengths[at(best)]) best = k;
      }
      found[at(first + i)] = best;
    }
  }
  return found;
}

/// A standard normal number is not needed here: only uniform ones, the same on every platform.
double uniform(std::mt19937_64& generator) { return static_cast<double>(generator() >> 11) * 0x1p-53; }

/// Centres far from each other: each row's chance grows with its squared distance to those chosen before.
std::vector<float> first_centres(const std::vector<float>& rows, std::int64_t dim, std::int64_t rules,
                                 std::mt19937_64& generator) {
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / dim;
  std::vector<double> distance(at(count), std::numeric_limits<double>::infinity());
  std::vector<float> centres;
  std::int64_t chosen = std::min(count - 1, static_cast<std::int64_t>(uniform(generator) * static_cast<double>(count)));
  for (;;) {
    const float* centre = rows.data() + chosen * dim;
    centres.insert(centres.end(), centre, centre + dim);
    if (static_cast<std::int64_t>(centres.size()) == rules * dim) return centres;
    double total = 0.0;
    for (std::int64_t i = 0; i < count; ++i) {
      distance[at(i)] = std::min(distance[at(i)], squared_distance(rows.data() + i * dim, centre, dim));
      total += distance[at(i)];
    }
    double left = uniform(generator) * total;
    for (chosen = 0; chosen + 1 < count && (left -= distance[at(chosen)]) >= 0.0;) ++chosen;
  }
}

}  // namespace

tsk::System grid_of_sets(std::span<const float> rows, std::vector<std::int64_t> sets, std::int64_t most) {
  const auto dim = static_cast<std::int64_t>(sets.size());
  std::vector<double> low(sets.size(), std::numeric_limits<double>::infinity()), high(sets.size());
  for (double& value : high) value = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t j = i % sets.size();
    low[j] = std::min(low[j], static_cast<double>(rows[i]));
    high[j] = std::max(high[j], static_cast<double>(rows[i]));
  }
  double rules = 1.0;
  for (std::size_t j = 0; j < sets.size(); ++j) {
    if (!(high[j] > low[j])) sets[j] = 1;
    rules *= static_cast<double>(sets[j]);
  }
  if (rules > static_cast<double>(most)) {
    const bool alike = std::ranges::all_of(sets, [&](std::int64_t n) { return n == sets.front(); });
    throw Error(
        ErrorKind::usage,
        fmt::format("--sets: {} with {} are {:.0f} rules, expected at most {}; --rules N takes as many as "
                    "it says",
                    counted(dim, "input"), alike ? counted(sets.front(), "set") + " each" : "these sets", rules, most));
  }
  tsk::System system{.dim = dim, .outputs = 0, .order = 0, .centres = {}, .widths = {}, .consequents = {}};
  constexpr double kHalfHeight = 0.42466090014400953;  // 1 / (2 sqrt(2 ln 2)), of the distance to the neighbour
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(rules); ++k) {
    std::int64_t left = k;
    std::vector<float> centres(sets.size()), widths(sets.size());
    for (std::size_t j = sets.size(); j-- > 0;) {
      const std::int64_t set = left % sets[j];
      left /= sets[j];
      const double range = high[j] - low[j];
      const double spacing = range / static_cast<double>(std::max<std::int64_t>(sets[j] - 1, 1));
      centres[j] = static_cast<float>(sets[j] > 1 ? low[j] + spacing * static_cast<double>(set) : low[j] + 0.5 * range);
      widths[j] = static_cast<float>(range > 0.0 ? (sets[j] > 1 ? kHalfHeight : 1.0) * spacing : 1.0);
    }
    system.centres.insert(system.centres.end(), centres.begin(), centres.end());
    system.widths.insert(system.widths.end(), widths.begin(), widths.end());
  }
  return system;
}

tsk::System clusters(std::span<const float> all, std::int64_t dim, std::int64_t rules, std::uint64_t seed) {
  constexpr std::int64_t kMostRows = 20000;
  constexpr int kRounds = 20;
  constexpr std::uint64_t kStream = 1;
  const std::int64_t available = static_cast<std::int64_t>(all.size()) / dim;
  std::vector<float> rows;
  const std::vector<std::int32_t> order = permutation(available, seed, kStream);
  for (std::int64_t i = 0; i < std::min(available, std::max(kMostRows, 4 * rules)); ++i) {
    const float* row = all.data() + order[at(i)] * dim;
    rows.insert(rows.end(), row, row + dim);
  }
  const std::int64_t count = static_cast<std::int64_t>(rows.size()) / dim;
  std::mt19937_64 generator(seed);
  std::vector<float> centres = first_centres(rows, dim, rules, generator);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> sums(centres.size());
    std::vector<std::int64_t> members(at(rules));
    const std::vector<std::int64_t> owners = nearest_of_all(rows, centres, dim);
    for (std::int64_t i = 0; i < count; ++i) {
      const float* row = rows.data() + i * dim;
      const std::int64_t own = owners[at(i)];
      members[at(own)] += 1;
      for (std::int64_t j = 0; j < dim; ++j) sums[at(own * dim + j)] += static_cast<double>(row[j]);
    }
    bool moved = false;
    for (std::size_t i = 0; i < centres.size(); ++i) {
      const std::int64_t own = members[i / at(dim)];
      if (own == 0) continue;  // a centre that no row is nearest to stays
      const auto mean = static_cast<float>(sums[i] / static_cast<double>(own));
      moved |= mean != centres[i];
      centres[i] = mean;
    }
    if (!moved) break;
  }
  tsk::System system{.dim = dim, .outputs = 0, .order = 0, .centres = centres, .widths = {}, .consequents = {}};
  constexpr double kOverlap = 0.6;  // the neighbour's activation at a centre is a quarter of its own
  for (std::int64_t k = 0; k < rules; ++k) {
    const double squared = rules > 1 ? nearest(centres.data() + k * dim, centres, dim, k).squared : 0.0;
    const double width =
        squared > 0.0 && std::isfinite(squared) ? kOverlap * std::sqrt(squared) : std::sqrt(static_cast<double>(dim));
    system.widths.insert(system.widths.end(), at(dim), static_cast<float>(width));
  }
  return system;
}

}  // namespace heddle
