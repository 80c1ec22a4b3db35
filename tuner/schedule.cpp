#include "heddle/tuner/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace heddle {

namespace {

// A default that was stopped in its first run may need up to this many times the time after which it was stopped.
constexpr double kUnknownSlowness = 8.0;
// On a GPU the tuner measures one configuration while it compiles others. It therefore keeps several searches active:
// one per compiler thread, at least 2, at most 16. A batch takes as long as its slowest kernel; the other searches use
// the idle compiler threads meanwhile. More than 16 would hurt, because searches that run side by side cannot learn
// from each other's winners. With one compiler thread, a second search lets it compile while the first one measures.
constexpr std::size_t kMinActive = 2, kMaxActive = 16;
// If fewer searches than this are active, each has several batches in flight, so many in all: of 16 compiler threads
// every one has four configurations, since a search measures in its own order and one slow kernel holds the others up.
constexpr std::size_t kMaxBatchesAhead = 8;

bool is_unknown(const PlannedVisit& visit) { return visit.search && !visit.profile; }

}  // namespace

std::size_t concurrent_searches(const Evaluator& evaluator) {
  if (evaluator.shares_processor()) return 1;
  return std::clamp(evaluator.compiler_threads(), kMinActive, kMaxActive);
}

std::size_t batches_ahead(std::size_t active, std::size_t most_active) {
  return std::max<std::size_t>(1, std::min(most_active, kMaxBatchesAhead) / active);
}

/// Puts aside what other runs have taken, and takes back what one of them has left. Returns whether a visit is left.
bool Schedule::has_next() {
  std::ranges::move(elsewhere_, std::back_inserter(agenda_));
  elsewhere_.clear();
  const auto first = agenda_.begin() + static_cast<std::ptrdiff_t>(taken_);
  const auto others = std::stable_partition(
      first, agenda_.end(), [&](const PlannedVisit& visit) { return !pool_.has_another(visit.problem); });
  std::move(others, agenda_.end(), std::back_inserter(elsewhere_));
  agenda_.erase(others, agenda_.end());
  return taken_ < agenda_.size();
}

std::optional<std::size_t> Schedule::take_remeasurement() {
  while (has_next() && !agenda_[taken_].search) {
    if (pool_.take(agenda_[taken_].problem)) return taken_++;
  }
  return std::nullopt;
}

std::optional<std::size_t> Schedule::take(const std::vector<Problem>& under_way) {
  while (has_next() && bring_best_forward(under_way)) {
    if (pool_.take(agenda_[taken_].problem)) return taken_++;
  }
  return std::nullopt;
}

/// Of the next problems on the agenda that have no profile, moves the most valuable one to the front. Returns false if
/// the time left is too short for any of them.
bool Schedule::bring_best_forward(const std::vector<Problem>& under_way) {
  const auto first = agenda_.begin() + static_cast<std::ptrdiff_t>(taken_);
  if (!is_unknown(*first)) return true;
  std::vector<Problem> left;
  for (auto visit = first; visit != agenda_.end() && is_unknown(*visit); ++visit) left.push_back(visit->problem);
  left = within_time(std::move(left));
  if (left.empty()) return false;
  const Problem& best = left[lessons_.coverage().most_valuable(left, under_way)];
  const auto chosen =
      std::find_if(first, agenda_.end(), [&](const PlannedVisit& visit) { return visit.problem == best; });
  std::rotate(first, chosen, chosen + 1);
  return true;
}

/// After a problem was too large for the budget, drops the problems that are probably too large as well. Keeps the
/// smallest unless it is certainly too large.
std::vector<Problem> Schedule::within_time(std::vector<Problem> problems) const {
  const auto left = stop_.seconds_left_in_total();
  if (!left) return problems;
  const double allowed = Screener::pilot_limit(*left);
  const auto at_least = [&](const Problem& problem) { return lessons_.least_pilot_seconds(problem); };
  const auto smallest = std::min_element(problems.begin(), problems.end(),
                                         [&](const Problem& a, const Problem& b) { return at_least(a) < at_least(b); });
  if (at_least(*smallest) > allowed) return {};
  const Problem last = *smallest;
  std::erase_if(problems, [&](const Problem& problem) { return kUnknownSlowness * at_least(problem) > allowed; });
  return problems.empty() ? std::vector<Problem>{last} : problems;
}

/// The runs of a pool share out what is left of the agenda.
double Schedule::unstarted() const {
  return 1.0 + static_cast<double>(agenda_.size() - taken_) / static_cast<double>(pool_.runs());
}

StopCondition Schedule::even_share(StopCondition& phase) const {
  const double share = 1.0 / unstarted();
  return phase.slice(share, share);
}

StopCondition Schedule::share(StopCondition& phase, std::size_t active, std::int64_t promised) const {
  const double unfinished = unstarted() + static_cast<double>(active);
  const double of_time = std::min(1.0, static_cast<double>(most_active_) / unfinished);
  const auto left = phase.evaluations_left();
  if (!left || *left == 0) return phase.slice(of_time, 0.0);
  const double share = std::floor(static_cast<double>(*left - promised) / unstarted());
  return phase.slice(of_time, (share + 0.5) / static_cast<double>(*left));  // half an evaluation against rounding
}

}  // namespace heddle
