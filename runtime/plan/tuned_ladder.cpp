#include "heddle/runtime/plan/tuned_ladder.hpp"

#include <algorithm>

namespace heddle {

TunedLadder::TunedLadder(Device& device, const std::shared_ptr<const Dispatcher>& dispatcher, const Problem& largest,
                         std::string_view axis, const std::vector<std::int64_t>& capacities, const Notice& notice,
                         const Stop& stop)
    : capacities_(capacities) {
  std::vector<Problem> problems;
  problems.reserve(capacities.size());
  for (const std::int64_t capacity : capacities) problems.push_back(largest.with(axis, capacity));
  rungs_ = TunedPlan::choose(device, dispatcher, problems, notice, stop);
}

std::size_t TunedLadder::at(std::int64_t needed) const noexcept {
  const auto rung = std::ranges::lower_bound(capacities_, needed);
  return std::min<std::size_t>(static_cast<std::size_t>(rung - capacities_.begin()), capacities_.size() - 1);
}

}  // namespace heddle
