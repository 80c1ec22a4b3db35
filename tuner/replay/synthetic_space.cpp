#include "heddle/tuner/replay/synthetic_space.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "fmt/format.h"
#include "heddle/tuner/draw.hpp"

namespace heddle {

namespace {

constexpr std::uint64_t kSyntheticPurpose = 128;
constexpr double kNoise = 0.01;
constexpr double kFastest = 1000.0;  // microseconds

struct Sizes {  // of one parameter
  std::string name;
  std::vector<std::int64_t> values;
};

/// In their order: block_x, block_y, tile_x, tile_y, then the switches.
using Point = std::array<std::size_t, 8>;  // levels
constexpr std::size_t kSizes = 4;          // the axes that are no switches
constexpr std::size_t kStaged = 4, kWide = 5, kPadded = 6, kHinted = 7;

/// The effects on log(time) in one way to work.
struct Way {
  std::size_t number = 0;
  double base = 0.0;                                 // of the fastest configuration that works
  std::array<double, 8> jump{};                      // wherever the axis is not at its fastest value
  std::array<double, 8> slope{};                     // from the middle of the fast values to the far end of the axis
  std::array<double, 8> centre{};                    // 0 to 1 over the levels
  double threads_slope = 0.0, threads_centre = 0.0;  // by octaves of threads per block
  double work_slope = 0.0, work_centre = 0.0;        // by octaves of results per thread
  double odd_warp = 0.0;                             // where a row of threads is no whole number of warps
  double bound = 0.0;  // what lies no more than this above the fastest is as fast: something else takes the time
};

std::vector<std::int64_t> upwards(std::int64_t step, std::int64_t count) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 1; i <= count; ++i) values.push_back(step * i);
  return values;
}

std::vector<std::int64_t> doubling(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = from; value <= to; value *= 2) values.push_back(value);
  return values;
}

std::vector<Sizes> axes(Draw& draw) {
  std::vector<Sizes> list;
  list.push_back({"block_x", draw.uniform() < 0.5 ? upwards(16, 12) : doubling(8, 512)});
  list.push_back({"block_y", doubling(1, 16)});
  list.push_back({"tile_x", draw.uniform() < 0.5 ? upwards(1, 5) : doubling(1, 8)});
  list.push_back({"tile_y", draw.uniform() < 0.5 ? upwards(1, 5) : doubling(1, 8)});
  for (const char* name : {"staged", "wide", "padded", "hinted"}) list.push_back({name, {0, 1}});
  return list;
}

/// `steep`: how few configurations of this way are fast. `at_edge`: they lie at an end of two axes.
Way way(Draw& draw, std::size_t number, double base, double steep, bool at_edge) {
  Way way{.number = number, .base = base};
  for (std::size_t axis = 0; axis < way.slope.size(); ++axis) {
    way.slope[axis] = steep * (axis < kSizes ? 0.15 + 0.6 * draw.uniform() : 0.2 * draw.uniform());
    way.centre[axis] = axis < kSizes ? 0.15 + 0.7 * draw.uniform() : static_cast<double>(draw.below(2));
  }
  if (at_edge) {
    const std::size_t first = draw.below(kSizes);
    const std::size_t second = (first + 1 + draw.below(kSizes - 1)) % kSizes;
    for (const std::size_t axis : {first, second}) {
      way.centre[axis] = static_cast<double>(draw.below(2));
      way.jump[axis] = 0.05 + 0.1 * draw.uniform();
      way.slope[axis] = steep * (0.3 + 0.5 * draw.uniform());
    }
  }
  way.threads_slope = steep * 0.12 * draw.uniform();
  way.threads_centre = 5.0 + 4.0 * draw.uniform();
  way.work_slope = steep * 0.15 * draw.uniform();
  way.work_centre = 4.0 * draw.uniform();
  way.odd_warp = steep * 0.2 * draw.uniform();
  return way;
}

/// One per combination of `staged` and `wide`.
std::array<Way, 4> ways(Landscape landscape, Draw& draw) {
  std::array<Way, 4> list;
  switch (landscape) {
    case Landscape::broad:
      list.fill(way(draw, 0, 0.0, 1.0, false));
      break;
    case Landscape::hidden: {
      const Way easy = way(draw, 0, 0.2 + 0.15 * draw.uniform(), 0.7, false);
      const Way hard = way(draw, 1, 0.0, 2.0, true);
      const bool staged_is_easy = draw.uniform() < 0.5;
      for (std::size_t i = 0; i < list.size(); ++i) list[i] = ((i & 1U) != 0) == staged_is_easy ? easy : hard;
      break;
    }
    case Landscape::flat: {
      Way easy = way(draw, 0, 0.2 + 0.2 * draw.uniform(), 1.0, false);
      easy.bound = 0.3 + 0.3 * draw.uniform();
      Way hard = way(draw, 1, 0.0, 1.5, true);
      hard.odd_warp = 0.5 + draw.uniform();
      const bool staged_is_easy = draw.uniform() < 0.5;
      for (std::size_t i = 0; i < list.size(); ++i) list[i] = ((i & 1U) != 0) == staged_is_easy ? easy : hard;
      break;
    }
    case Landscape::scattered: {
      const std::size_t best = draw.below(list.size());
      for (std::size_t i = 0; i < list.size(); ++i) {
        list[i] = way(draw, i, i == best ? 0.0 : 0.1 + 0.25 * draw.uniform(), 1.2, true);
      }
      break;
    }
  }
  return list;
}

}  // namespace

const std::vector<LandscapeEntry>& landscapes() {
  static const std::vector<LandscapeEntry> entries{{Landscape::broad, "broad"},
                                                   {Landscape::hidden, "hidden"},
                                                   {Landscape::flat, "flat"},
                                                   {Landscape::scattered, "scattered"}};
  return entries;
}

RecordedSpace synthetic_space(Landscape landscape, std::uint64_t seed) {
  Draw draw(seed, kSyntheticPurpose, static_cast<std::uint64_t>(landscape));
  const std::vector<Sizes> axis = axes(draw);
  const std::array<Way, 4> by_way = ways(landscape, draw);
  const std::int64_t most_threads = 256 << draw.below(3);
  const std::int64_t most_bytes = 16 << 10U << draw.below(3);  // of local memory
  const std::int64_t rim = 2 + static_cast<std::int64_t>(draw.below(15));
  const bool divides = draw.uniform() < 0.5;

  RecordedSpace space;
  space.name = fmt::format("{}-{}", landscapes()[static_cast<std::size_t>(landscape)].name, seed);
  space.device = "synthetic";
  space.kernel = "synthetic";
  for (const Sizes& each : axis) space.parameters.push_back(each.name);

  Point point{};
  const auto value = [&](std::size_t i) { return axis[i].values[point[i]]; };
  const auto allowed = [&] {
    const std::int64_t threads = value(0) * value(1);
    if (threads < 32 || threads > most_threads) return false;
    if (value(kPadded) != 0 && (value(kStaged) == 0 || value(0) % 32 == 0)) return false;
    if (value(kWide) != 0 && value(0) % 4 != 0) return false;
    if (divides && value(2) % value(3) != 0 && value(3) % value(2) != 0) return false;
    return value(0) * value(2) <= 1024 && value(1) * value(3) <= 64;
  };
  const auto log_time = [&] {
    const Way& here = by_way[point[kStaged] + 2 * point[kWide]];
    double sum = 0.0;
    for (std::size_t i = 0; i < axis.size(); ++i) {
      if (i == kStaged || i == kWide) continue;
      const auto last = static_cast<double>(axis[i].values.size() - 1);
      const double off = std::abs(static_cast<double>(point[i]) / last - here.centre[i]);
      sum += here.slope[i] * off + (off > 0.0 ? here.jump[i] : 0.0);
    }
    sum += here.threads_slope * std::abs(std::log2(static_cast<double>(value(0) * value(1))) - here.threads_centre);
    sum += here.work_slope * std::abs(std::log2(static_cast<double>(value(2) * value(3))) - here.work_centre);
    return sum + (value(0) % 32 != 0 ? here.odd_warp : 0.0);
  };
  std::vector<double> sums;
  std::vector<std::size_t> way_of;
  std::array<double, 4> least;
  least.fill(std::numeric_limits<double>::infinity());
  const auto add = [&] {
    const std::int64_t bytes = (value(0) * value(2) + rim) * (value(1) * value(3) + rim) * 4;
    const bool works = value(kStaged) == 0 || bytes <= most_bytes;
    way_of.push_back(point[kStaged] + 2 * point[kWide]);
    sums.push_back(log_time());
    double& here = least[by_way[way_of.back()].number];
    if (works) here = std::min(here, sums.back());
    std::vector<Configuration::Entry> values;
    for (std::size_t i = 0; i < axis.size(); ++i) values.emplace_back(axis[i].name, value(i));
    space.configurations.emplace_back(values);
    space.outcomes.emplace_back().status = works ? Status::correct : Status::launch;
  };
  for (bool more = true; more;) {
    if (allowed()) add();
    more = false;
    for (std::size_t i = axis.size(); i-- > 0 && !more;) {
      more = ++point[i] < axis[i].values.size();
      if (!more) point[i] = 0;
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Way& here = by_way[way_of[i]];
    if (space.outcomes[i].status == Status::correct) {
      const double above = std::max(0.0, sums[i] - least[here.number] - here.bound);
      space.outcomes[i].time = kFastest * std::exp(here.base + above + kNoise * draw.normal());
    }
  }
  return space;
}

}  // namespace heddle
