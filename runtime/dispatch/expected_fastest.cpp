#include "heddle/runtime/dispatch/expected_fastest.hpp"

#include <cstddef>
#include <vector>

namespace heddle {

namespace {

// Values that are tried: a tenth of a second. The largest space of today's families with a model takes a tenth of it.
constexpr std::size_t kMostSteps = 300'000;

}  // namespace

std::optional<ExpectedTime> expected_fastest(const SearchSpace& space, const CostModel& model, const Problem& problem) {
  std::optional<ExpectedTime> fastest;
  const auto visit = [&](const Configuration& configuration, const std::vector<SearchSpace::Level>&) {
    const auto microseconds = model.expected(configuration, problem);
    if (microseconds && (!fastest || *microseconds < fastest->microseconds)) fastest = {configuration, *microseconds};
    return true;
  };
  space.walk(problem, {}, visit, kMostSteps);
  return fastest;
}

}  // namespace heddle
