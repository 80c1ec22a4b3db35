// Plans for every size that a growing network passes through, ready before its first sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "heddle/runtime/plan/tuned_plan.hpp"

namespace heddle {

/// The plans for all sizes that a growing network passes through, in ascending order of one size, the capacity.
class TunedLadder {
 public:
  /// `axis`: the size that grows; all other sizes are those of `largest`. `capacities`: ascending, at least one. All
  /// plans are compiled in one batch; see TunedPlan::choose() for what is thrown.
  TunedLadder(Device& device, const std::shared_ptr<const Dispatcher>& dispatcher, const Problem& largest,
              std::string_view axis, const std::vector<std::int64_t>& capacities, const Notice& notice = {},
              const Stop& stop = {});

  [[nodiscard]] std::size_t size() const noexcept { return rungs_.size(); }
  [[nodiscard]] TunedPlan& operator[](std::size_t rung) { return rungs_[rung]; }
  [[nodiscard]] const TunedPlan& operator[](std::size_t rung) const { return rungs_[rung]; }
  [[nodiscard]] std::int64_t capacity(std::size_t rung) const { return capacities_[rung]; }
  /// Index of the smallest rung with room for `needed`; the last one if there is none.
  [[nodiscard]] std::size_t at(std::int64_t needed) const noexcept;

 private:
  std::vector<std::int64_t> capacities_;
  std::vector<TunedPlan> rungs_;
};

}  // namespace heddle
