// Baselines at their best: what won at one problem is tried at its neighbours.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/stop_condition.hpp"

namespace heddle::bench {

/// `winners`: texts of configurations, by problem, of a search that had little time for each. Returns for each of
/// `problems` the fastest of those that won at the nearest problems, itself among them, and that it allows: each is
/// looked at once, and those near the best are timed in turn. A problem at which none was tried before `stop`, or could
/// run, keeps what it has.
[[nodiscard]] std::map<Problem, std::string> cross_tried(Evaluator& evaluator,
                                                         const std::map<Problem, std::string>& winners,
                                                         const std::vector<Problem>& problems,
                                                         const StopCondition& stop);

}  // namespace heddle::bench
