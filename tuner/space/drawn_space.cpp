#include "heddle/tuner/space/drawn_space.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace heddle {

namespace {

constexpr std::size_t kDescents = 1000;        // for the estimate of the number of configurations
constexpr double kEstimateSeconds = 1.0;       // and at most so long
constexpr std::size_t kMostSteps = 20000;      // values tried to find one configuration
constexpr std::size_t kNeighbourSteps = 2048;  // values tried to find one neighbour
constexpr float kForbidden = std::numeric_limits<float>::infinity();

struct Change {
  std::size_t parameter = 0, level = 0;
};

/// The changes of one parameter to try: the nearest values of each first, so that none is left out for another one with
/// very many values.
std::vector<Change> nearest_changes(const CandidateSpace::Costs& gaps, const std::vector<CandidateSpace::Level>& from) {
  std::vector<std::pair<std::size_t, Change>> ranked;
  for (std::size_t p = 0; p < gaps.size(); ++p) {
    std::vector<Change> own;
    for (std::size_t level = 0; level < gaps[p].size(); ++level) {
      if (level != from[p]) own.push_back({.parameter = p, .level = level});
    }
    std::ranges::stable_sort(own, {}, [&](const Change& change) { return gaps[p][change.level]; });
    for (std::size_t rank = 0; rank < own.size(); ++rank) ranked.emplace_back(rank, own[rank]);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, Change>::first);
  ranked.resize(std::min(ranked.size(), DrawnSpace::kMostNeighbours));
  std::vector<Change> changes;
  changes.reserve(ranked.size());
  for (const auto& [rank, change] : ranked) changes.push_back(change);
  return changes;
}

}  // namespace

DrawnSpace::DrawnSpace(SearchSpace space, Problem problem, Stop stop)
    : CandidateSpace(coordinates_of(space)),
      space_(std::move(space)),
      problem_(std::move(problem)),
      stop_(std::move(stop)),
      count_{.configurations = space_.estimate(problem_, kDescents, stop_after(kEstimateSeconds)), .exact = false} {}

Coordinates DrawnSpace::coordinates_of(const SearchSpace& space) {
  std::vector<Coordinates::Column> columns;
  columns.reserve(space.parameters().size());
  for (const auto& parameter : space.parameters()) {
    columns.push_back(
        {.name = parameter.name, .values = parameter.values, .absent_somewhere = static_cast<bool>(parameter.active)});
  }
  return Coordinates(std::move(columns));
}

std::size_t DrawnSpace::number(std::vector<Level> levels) {
  const auto [place, fresh] = numbers_.emplace(std::move(levels), levels_.size());
  if (fresh) levels_.push_back(place->first);
  return place->second;
}

std::optional<std::size_t> DrawnSpace::find(const Configuration& configuration) {
  auto wanted = coordinates().encode(configuration);
  if (!wanted) return std::nullopt;
  if (const auto known = numbers_.find(*wanted); known != numbers_.end()) return known->second;
  if (space_.violated(configuration, problem_)) return std::nullopt;
  return number(std::move(*wanted));
}

std::optional<std::size_t> DrawnSpace::draw(Draw& draw) {
  // A way that fails again and again takes long each time. Random walks find configurations where most descents end at
  // a constraint, though not all of them equally often. Where walks fail, too, there are next to none.
  constexpr int kMostFailures = 3;
  std::optional<Configuration> drawn;
  if (failed_descents_ < kMostFailures) {
    drawn = space_.draw(
        problem_, [&] { return draw.uniform(); }, stop_);
    if (!drawn) ++failed_descents_;
  }
  if (!drawn && failed_walks_ < kMostFailures) {
    drawn = stray(draw);
    if (!drawn) ++failed_walks_;
  }
  if (!drawn) return std::nullopt;
  return number(coordinates().encode(*drawn).value());
}

std::optional<Configuration> DrawnSpace::stray(Draw& draw) const {
  const auto shuffle = [&](std::size_t, std::vector<SearchSpace::Level>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[draw.below(i)]);
  };
  std::optional<Configuration> found;
  const auto take = [&](const Configuration& configuration, const std::vector<SearchSpace::Level>&) {
    found = configuration;
    return false;
  };
  space_.walk(problem_, shuffle, take, kMostSteps, stop_);
  return found;
}

std::optional<std::size_t> DrawnSpace::cheapest(const Costs& costs, const std::vector<bool>& allowed) {
  return cheapest(costs, allowed, kMostSteps);
}

std::optional<std::size_t> DrawnSpace::cheapest(const Costs& costs, const std::vector<bool>& allowed,
                                                std::size_t most_steps) {
  const auto order = [&](std::size_t column, std::vector<SearchSpace::Level>& values) {
    const auto& p = coordinates().parameter_of(column);
    if (!p) return;
    const auto cost = [&](SearchSpace::Level value) { return costs[*p][coordinates().level(column, value)]; };
    std::erase_if(values, [&](SearchSpace::Level value) { return std::isinf(cost(value)); });
    std::stable_sort(values.begin(), values.end(),
                     [&](SearchSpace::Level a, SearchSpace::Level b) { return cost(a) < cost(b); });
  };
  std::optional<std::size_t> found;
  const auto visit = [&](const Configuration& configuration, const std::vector<SearchSpace::Level>&) {
    std::vector<Level> levels = coordinates().encode(configuration).value();
    for (std::size_t p = 0; p < costs.size(); ++p) {  // a parameter may have lost its meaning
      if (std::isinf(costs[p][levels[p]])) return true;
    }
    const auto known = numbers_.find(levels);
    if (known != numbers_.end() && known->second < allowed.size() && !allowed[known->second]) return true;
    found = number(std::move(levels));
    return false;
  };
  space_.walk(problem_, order, visit, most_steps, stop_);
  return found;
}

std::vector<std::size_t> DrawnSpace::neighbours(std::size_t configuration) {
  if (visited_ == configuration) return kept_neighbours_;
  const std::vector<Level> from = levels_[configuration];
  const Costs gaps = distances(from.data());
  std::vector<std::pair<float, std::size_t>> found;
  for (const auto& [p, level] : nearest_changes(gaps, from)) {
    if (stop_ && stop_()) return {};
    Costs costs = gaps;
    std::fill(costs[p].begin(), costs[p].end(), kForbidden);
    costs[p][level] = gaps[p][level];
    if (const auto neighbour = cheapest(costs, {}, kNeighbourSteps))
      found.emplace_back(distance(configuration, *neighbour), *neighbour);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::size_t> result;
  for (const auto& [apart, other] : found) {
    if (std::find(result.begin(), result.end(), other) == result.end()) result.push_back(other);
  }
  visited_ = configuration;
  kept_neighbours_ = result;
  return result;
}

}  // namespace heddle
