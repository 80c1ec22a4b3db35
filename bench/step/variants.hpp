// Configurations that differ from one in a value or two: the baselines at their best.
#pragma once

#include <string_view>
#include <vector>

#include "heddle/kernels/search_space.hpp"

namespace heddle::bench {

/// `configuration` with each value that `parameter` has in the space, as far as the problem allows them. No other
/// parameter may have its meaning by this one.
[[nodiscard]] std::vector<Configuration> with_each(const SearchSpace& space, const Configuration& configuration,
                                                   std::string_view parameter, const Problem& problem);

/// What `configuration` launches, one by one or in a graph, captured in a graph that is replayed for many samples;
/// nothing for schemes that do not launch for every sample. One for each way to launch, since a baseline has to be at
/// its best: whether a launch is set up while the one before it runs is worth a quarter either way, and searches that
/// compile nothing to find that out do not try both. The space need not have them: it keeps GPU-FNN as published,
/// launched one by one.
[[nodiscard]] std::vector<Configuration> captured(const SearchSpace& space, const Configuration& configuration,
                                                  const Problem& problem);

}  // namespace heddle::bench
