#include "heddle/cli/problems.hpp"

#include <algorithm>
#include <set>

namespace heddle::cli {
namespace {

std::set<std::int64_t> axis_sizes(const Axis& axis, const std::vector<Problem>& defaults, const Sizes& sizes) {
  if (const auto named = sizes.find(axis.name); named != sizes.end())
    return {named->second.begin(), named->second.end()};
  std::set<std::int64_t> values;
  for (const Problem& problem : defaults) values.insert(problem.at(axis.name));
  return values;
}

}  // namespace

std::vector<Problem> problem_grid(const KernelFamily& family, const DeviceIdentity& device, const Sizes& sizes) {
  std::vector<Problem> defaults = family.default_problems(device);
  if (sizes.empty()) return defaults;
  std::vector<std::vector<Problem::Size>> grid{{}};
  for (const Axis& axis : family.axes()) {
    std::vector<std::vector<Problem::Size>> longer;
    for (const auto& begun : grid) {
      for (const std::int64_t value : axis_sizes(axis, defaults, sizes)) {
        longer.push_back(begun);
        longer.back().push_back({axis.name, value});
      }
    }
    grid = std::move(longer);
  }
  std::vector<Problem> problems;
  problems.reserve(grid.size());
  for (auto& complete : grid) problems.emplace_back(std::move(complete));
  return problems;
}

Problem one_problem(const KernelFamily& family, const DeviceIdentity& device, const Sizes& sizes) {
  const std::vector<Problem> defaults = family.default_problems(device);
  std::vector<Problem::Size> chosen;
  chosen.reserve(family.axes().size());
  for (const Axis& axis : family.axes()) chosen.push_back({axis.name, *axis_sizes(axis, defaults, sizes).begin()});
  return Problem(std::move(chosen));
}

bool matches(const Problem& problem, const Sizes& sizes) {
  return std::all_of(problem.sizes().begin(), problem.sizes().end(), [&](const Problem::Size& size) {
    const auto named = sizes.find(size.name);
    return named == sizes.end() ||
           std::find(named->second.begin(), named->second.end(), size.value) != named->second.end();
  });
}

}  // namespace heddle::cli
