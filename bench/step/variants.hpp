// Configurations that differ from one in a single value: the baselines at their best.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "heddle/kernels/search_space.hpp"

namespace heddle::bench {

/// `configuration` with each value that `parameter` has in the space, as far as the problem allows them. No other
/// parameter may have its meaning by this one.
[[nodiscard]] std::vector<Configuration> with_each(const SearchSpace& space, const Configuration& configuration,
                                                   std::string_view parameter, const Problem& problem);

/// The launches of a configuration with scheme=stepwise, captured in a graph that is replayed for many samples; nothing
/// for other schemes. The space need not have it: it keeps GPU-FNN as published, launched one by one.
[[nodiscard]] std::optional<Configuration> captured(const Configuration& configuration);

}  // namespace heddle::bench
