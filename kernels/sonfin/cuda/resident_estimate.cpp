#include "heddle/kernels/sonfin/cuda/resident_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "heddle/kernels/sonfin/cuda/arrangement.hpp"

namespace heddle::sonfin {

namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::size_t kCommonTerms = 16;  // of all links; then those of the exchange
constexpr double kSchedulers = 4.0;  // of a multiprocessor; what more warps have to issue comes one after the other

// Nanoseconds for one of each; rows: block, cluster, grid.
constexpr std::array<std::array<double, kResidentTerms>, 3> kNanoseconds{{
    {268.9, 0,     8.298, 33.25, 2.23,  9.356, 59.89, 16.59, 106.5, 6.658, 0,
     249.5, 2.552, 4.235, 18.15, 1.095, 0,     0,     0,     0,     0},
    {451.7, 1.461,  7.319, 33.66,  2.761, 7.169, 45.7, 50.83,  187.4, 4.262, 2.109,
     243.4, 0.5163, 1.24,  0.2037, 0,     13.12, 2.72, 0.6942, 11.78, 0.9218},
    {720.1, 0.1708, 7.812, 45.28, 0.7305, 2.037, 166.3, 37.3,  0,     2.206, 2.812,
     70.9,  0,      0,     7.634, 12.45,  102.2, 146.5, 12.51, 100.7, 0},
}};

double log2_of(std::int64_t value) { return std::log2(static_cast<double>(value)); }

}  // namespace

std::array<std::string_view, kResidentTerms> resident_term_names(ResidentShape::Link link) {
  std::array<std::string_view, kResidentTerms> names{
      "the step itself",
      "tasks of a thread",
      "tasks of a scheduler",
      "rules of a thread",
      "shuffles of weighted sums, of a scheduler",
      "packs of inputs of a thread",
      "several outputs",
      "rules narrower than a warp",
      "parameters in shared memory",
      "tasks of a scheduler in shared memory",
      "those with both parameters there",
      "registers beyond 230, in 25",
      "shuffles of slopes",
      "shuffles of outputs and errors to the lanes that keep their consequents",
      "warps of a block",
      "outputs",
  };
  const auto exchange = names.begin() + kCommonTerms;
  if (link == ResidentShape::Link::cluster) {
    const std::array<std::string_view, 5> cluster{"messages of a record", "messages of a block", "records to add up",
                                                  "records to add up, of a set of lanes",
                                                  "messages, for each block beyond 12"};
    std::copy(cluster.begin(), cluster.end(), exchange);
  } else if (link == ResidentShape::Link::grid) {
    const std::array<std::string_view, 4> grid{"columns of packets of a warp beyond 1",
                                               "packets of all blocks, in 1000", "packets of a thread beyond 2",
                                               "doublings of blocks"};
    std::copy(grid.begin(), grid.end(), exchange);
  }
  return names;
}

std::array<double, kResidentTerms> resident_terms(const ResidentShape& shape) {
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const std::int64_t warps = shape.block / kWarp;
  const double share_of_scheduler = std::max(real(warps) / kSchedulers, 1.0);
  const double tasks = real(shape.packs * shape.vector * shape.rules);
  const std::int64_t value_lanes = std::min(kWarp, power_of_two_from(shape.outputs));
  const std::int64_t sharers = std::min(shape.lanes, value_lanes);
  const std::int64_t share = ceil_div(shape.outputs, sharers);
  const bool shared = shape.storage != ResidentShape::Storage::registers;

  std::array<double, kResidentTerms> terms{
      1.0,
      tasks,
      tasks * share_of_scheduler,
      real(shape.rules),
      real(share) * log2_of(kWarp / shape.lanes) * share_of_scheduler,
      real(shape.packs),
      shape.outputs > 1 ? 1.0 : 0.0,
      shape.lanes < kWarp ? 1.0 : 0.0,
      shared ? 1.0 : 0.0,
      shared ? tasks * share_of_scheduler : 0.0,
      shape.storage == ResidentShape::Storage::shared ? tasks * share_of_scheduler : 0.0,
      std::max(0.0, real(shape.registers()) - 230.0) / 25.0,
      real(shape.rules) * log2_of(sharers),
      sharers < value_lanes ? 2.0 * real(share) : 0.0,
      real(warps),
      real(shape.outputs),
  };
  double* const exchange = terms.data() + kCommonTerms;
  switch (shape.link) {
    case ResidentShape::Link::block:
      break;
    case ResidentShape::Link::cluster: {
      const std::int64_t messages = ceil_div(2 + shape.outputs, 4), records = shape.blocks * warps;
      exchange[0] = real(messages);
      exchange[1] = real(messages * warps);
      exchange[2] = real(records * ceil_div(shape.outputs, kWarp));
      exchange[3] = real(records * value_lanes) / real(kWarp);
      exchange[4] = std::max(0.0, real(shape.blocks) - 12.0) * real(messages * warps);
      break;
    }
    case ResidentShape::Link::grid: {
      const std::int64_t columns = ceil_div(2 + shape.outputs, 3);
      exchange[0] = std::max(0.0, real(columns) / real(warps) - 1.0);
      exchange[1] = real(columns * shape.blocks) / 1000.0;
      exchange[2] = std::max(0.0, real(columns * shape.blocks) / real(shape.block) - 2.0);
      exchange[3] = log2_of(shape.blocks);
      break;
    }
  }
  return terms;
}

double resident_estimate(const ResidentShape& shape) {
  const std::array<double, kResidentTerms> terms = resident_terms(shape);
  const std::array<double, kResidentTerms>& weights = kNanoseconds[static_cast<std::size_t>(shape.link)];
  return 1e-3 * std::inner_product(terms.begin(), terms.end(), weights.begin(), 0.0);
}

}  // namespace heddle::sonfin
