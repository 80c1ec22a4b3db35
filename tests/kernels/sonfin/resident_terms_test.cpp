#include "heddle/kernels/sonfin/cuda/resident_terms.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/sonfin/train.hpp"

using namespace heddle;
using namespace heddle::sonfin;

namespace {

const DeviceIdentity kCard{.backend = "cuda",
                           .name = "card",
                           .architecture = "9.0",
                           .units = 132,
                           .memory_gib = 140,
                           .cache_bytes = 50 << 20,
                           .local_bytes = 227 << 10};

std::vector<double> counts(const TermCounts& terms, const Problem& sizes) {
  std::vector<double> counted(terms.size, std::nan(""));
  terms.count(sizes, counted);
  return counted;
}

}  // namespace

TEST_CASE("resident schemes are counted, others are not, and every term is counted somewhere") {
  const KernelFamily& family = train_family();
  const auto names = family.cost_terms("cuda");
  CHECK(std::set<std::string_view>(names.begin(), names.end()).size() == names.size());
  std::set<std::string_view> seen;
  for (const Problem& sizes : {problem(700, 200, 26), problem(64, 16, 5), problem(300, 80, 10), problem(90, 1100, 3),
                               problem(1500, 4200, 1), problem(521, 625, 4)}) {
    for (const Configuration& configuration : family.space(kCard).enumerate(sizes)) {
      const TermCounts terms = family.term_counts(configuration, kCard);
      REQUIRE(static_cast<bool>(terms.count) == is_resident(configuration));
      if (!terms.count) continue;
      REQUIRE(terms.first + terms.size <= names.size());
      const std::vector<double> counted = counts(terms, sizes);
      for (std::size_t i = 0; i < counted.size(); ++i) {
        const std::string_view name = names[terms.first + i];
        const bool wide = configuration.word("scheme") == "grid" && configuration.number("threads_per_rule") > 32;
        REQUIRE(name.starts_with(configuration.word("scheme") + (wide ? ", several warps a rule: " : ": ")));
        REQUIRE(counted[i] >= 0.0);
        REQUIRE(std::isfinite(counted[i]));
        if (counted[i] > 0.0) seen.insert(name);
      }
    }
  }
  for (const std::string_view name : names) CHECK_MESSAGE(seen.contains(name), name);
}

TEST_CASE("what a space lists but allows nowhere is not counted; the rest is at any sizes, allowed there or not") {
  const KernelFamily& family = train_family();
  const SearchSpace space = family.space(kCard);
  for (const char* lanes : {"64", "1024"}) {
    const Configuration wide = space.parse(std::string("scheme=grid coarsen_count=1 block_size=32 threads_per_rule=") +
                                           lanes + " vector=4 storage=registers");
    CHECK(!family.term_counts(wide, kCard).count);
  }
  const Configuration small =
      space.parse("scheme=block coarsen_count=1 block_size=64 threads_per_rule=32 vector=1 storage=registers");
  for (const double count : counts(family.term_counts(small, kCard), problem(4096, 4000, 300))) {
    CHECK(std::isfinite(count));
  }
}

TEST_CASE("blocks whose packets do not all travel at once cost a further trip, however many warps share a rule") {
  const KernelFamily& family = train_family();
  const SearchSpace space = family.space(kCard);
  const auto trips = [&](const Configuration& configuration, const Problem& sizes) {
    CHECK(!space.violated(configuration, sizes));
    const TermCounts terms = family.term_counts(configuration, kCard);
    const std::vector<double> counted = counts(terms, sizes);
    for (std::size_t i = 0; i < counted.size(); ++i) {
      if (family.cost_terms("cuda")[terms.first + i].find("trips through L2") != std::string_view::npos) {
        return counted[i];
      }
    }
    return std::nan("");
  };
  // 16 lanes await the packets of 128 blocks at a time; one output is awaited by a whole warp, which takes them all.
  const Configuration wide =
      space.parse("scheme=grid coarsen_count=1 block_size=256 threads_per_rule=64 vector=1 storage=registers");
  CHECK(trips(wide, problem(512, 625, 4)) == 0.0);
  CHECK(trips(wide, problem(521, 625, 4)) == 1.0);
  CHECK(trips(wide, problem(521, 625, 1)) == 0.0);
  const Configuration narrow =
      space.parse("scheme=grid coarsen_count=1 block_size=128 threads_per_rule=32 vector=1 storage=registers");
  CHECK(trips(narrow, problem(512, 200, 4)) == 1.0);
  CHECK(trips(narrow, problem(521, 200, 4)) == 2.0);
}

TEST_CASE("there is no model of the kernels of the CPU") {
  DeviceIdentity cpu = kCard;
  cpu.backend = "cpu";
  const KernelFamily& family = train_family();
  CHECK(family.cost_terms("cpu").empty());
  CHECK(!family.term_counts(family.default_configuration(cpu, problem(64, 16, 1)), cpu).count);
}
