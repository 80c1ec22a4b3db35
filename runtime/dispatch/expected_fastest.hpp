// What a model of times would choose where nothing was measured.
#pragma once

#include <optional>

#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/search_space.hpp"
#include "heddle/profiles/cost_model.hpp"

namespace heddle {

struct ExpectedTime {
  Configuration configuration;
  double microseconds = 0.0;  ///< per unit
};

/// The configuration with the lowest expected time at `problem`, of those that the space allows there and the model
/// counts; nothing if there is none. It takes some milliseconds: every configuration is looked at. Of a space too large
/// for that, those that come first are.
[[nodiscard]] std::optional<ExpectedTime> expected_fastest(const SearchSpace& space, const CostModel& model,
                                                           const Problem& problem);

}  // namespace heddle
