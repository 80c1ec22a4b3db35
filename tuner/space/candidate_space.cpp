#include "heddle/tuner/space/candidate_space.hpp"

#include "heddle/kernels/stop.hpp"
#include "heddle/tuner/space/drawn_space.hpp"
#include "heddle/tuner/space/listed_space.hpp"

namespace heddle {

namespace {

constexpr std::size_t kMostListed = std::size_t{1} << 20U;
constexpr std::size_t kMostListSteps = std::size_t{1} << 23U;  // values tried for the list: seconds

/// The number of configurations if there were no constraints and every parameter always had a meaning.
double unconstrained(const SearchSpace& space) {
  double product = 1.0;
  for (const auto& parameter : space.parameters()) product *= static_cast<double>(parameter.values.size());
  return product;
}

}  // namespace

CandidateSpace::Costs CandidateSpace::distances(const Level* levels) const {
  Costs costs;
  costs.reserve(parameters().size());
  for (std::size_t p = 0; p < parameters().size(); ++p) {
    std::vector<float>& own = costs.emplace_back(parameters()[p].levels);
    for (std::size_t level = 0; level < own.size(); ++level) {
      own[level] = coordinates_.gap(p, levels[p], static_cast<Level>(level));
    }
  }
  return costs;
}

std::unique_ptr<CandidateSpace> candidate_space(const SearchSpace& space, const Problem& problem, const Stop& gives_up,
                                                const Stop& stop) {
  // An estimate is uncertain. It decides only where it leaves no doubt.
  constexpr double kNoDoubt = 64.0, kCheckFrom = 16.0;
  const auto most = static_cast<double>(kMostListed);
  const bool hopeless =
      unconstrained(space) > kCheckFrom * most && space.estimate(problem, 100, gives_up) > kNoDoubt * most;
  if (!hopeless) {
    if (auto listed = ListedSpace::list(space, problem, kMostListed, kMostListSteps, gives_up)) return listed;
  }
  return std::make_unique<DrawnSpace>(space, problem, stop);
}

}  // namespace heddle
