// The search for a mapping at every capacity that a growing network passes through.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/profiles/profile_store.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/stop_condition.hpp"

namespace heddle::bench {

/// How thoroughly several problems were searched: that of the problem of which the fewest configurations were tried,
/// first of all of one with too few.
struct SearchDepth {
  Problem problem;
  std::int64_t tried = 0;
  std::int64_t allowed = 0;  ///< by the space

  /// Whether this may be called a search: at least 8 configurations were tried, or all that are allowed. The table of
  /// mappings asks the same of its cells.
  [[nodiscard]] bool is_enough() const;
};

/// Tunes `problems`, at least one, and keeps what is found in `store`. Problems of which too few configurations were
/// tried are tuned again, up to twice, each time for twice as long as before; each search goes on from what the ones
/// before have measured. `for_each`: the budget of one problem in the first search. Throws Error(profiles),
/// Error(device).
SearchDepth search_rungs(Evaluator& evaluator, ProfileStore& store, const std::vector<Problem>& problems,
                         const Budget& for_each, std::uint64_t seed);

}  // namespace heddle::bench
