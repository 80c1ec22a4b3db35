#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/kernels/axis.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/fuzzy/formula.hpp"
#include "heddle/kernels/fuzzy/map.hpp"

namespace heddle {
namespace {

/// The problems of a family with every value of its axes among `values`, or among those that an axis has.
std::vector<Problem> all_problems(const KernelFamily& family, const std::vector<std::int64_t>& cuts,
                                  const std::vector<std::int64_t>& sizes) {
  std::vector<Problem> problems{family.awkward_problem()};
  for (const Axis& axis : family.axes()) {
    const std::vector<std::int64_t>& values = !axis.values.empty() ? axis.values : axis.name == "cuts" ? cuts : sizes;
    std::vector<Problem> more;
    for (const Problem& problem : problems) {
      for (const std::int64_t value : values) more.push_back(problem.with(axis.name, value));
    }
    problems = std::move(more);
  }
  return problems;
}

TEST_CASE("what kernels of fuzzy numbers are untuned is allowed, whatever the sizes and the card") {
  FamilyRegistry families = builtin_families();
  for (const fuzzy::Encoding encoding : {fuzzy::Encoding::lower_upper, fuzzy::Encoding::midpoint_radius}) {
    families.add(describe_map(fuzzy::Formula("a*b + c"), encoding));
  }
  const std::vector<std::int64_t> cuts{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 20, 24, 30, 36};
  for (const auto& family : families.all()) {
    if (!family->name().starts_with("fuzzy-")) continue;
    CAPTURE(family->name());
    const std::vector<Problem> problems = all_problems(*family, cuts, {1, 33, 2048, 8192, 100'000, 10'000'000});
    CHECK(problems.size() > 100);
    for (const std::int64_t units : {16, 132}) {
      for (const std::int64_t local_bytes : {48 << 10, 64 << 10, 96 << 10, 99 << 10, 163 << 10, 227 << 10}) {
        const DeviceIdentity card{.backend = "cuda",
                                  .name = "any",
                                  .architecture = "9.0",
                                  .units = units,
                                  .memory_gib = 80,
                                  .cache_bytes = 50 << 20,
                                  .local_bytes = local_bytes};
        const SearchSpace space = family->space(card);
        for (const Problem& problem : problems) {
          CAPTURE(problem.text());
          const Configuration untuned = family->default_configuration(card, problem);
          CAPTURE(untuned.text());
          CHECK(space.violated(untuned, problem).value_or("") == "");
        }
      }
    }
  }
}

}  // namespace
}  // namespace heddle
