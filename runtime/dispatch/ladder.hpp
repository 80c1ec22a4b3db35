// Compiled kernels for every size that a growing network passes through, ready before its first sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"

namespace heddle {

/// Capacities for a size that grows to at most `cap`: 32, 48, 64, 96, ... and `cap` itself. Powers of two and their
/// midpoints, so that at most a third of a rung is unused after the step to it; below 32 the time of a step is all
/// latency and smaller kernels gain nothing. Throws Error(usage) if cap < 1.
[[nodiscard]] std::vector<std::int64_t> rung_capacities(std::int64_t cap);

/// One step of the ladder.
struct Rung {
  Problem problem;  ///< its value on the ladder's axis is the capacity
  Candidate candidate;
  std::shared_ptr<const Binary> binary;
};

/// Which candidate runs on a rung depends on problem and profiles alone (and on which candidates fail), never on how
/// long anything took. Immutable between calls of prepare(): at() may then be called from several threads.
class Ladder {
 public:
  /// Chooses for every problem and compiles all choices in one batch. Where a choice does not compile, the rung's
  /// next candidate takes its place, with a notice; a stale choice is used with a notice. `axis`: the size that grows
  /// while training runs; `problems` ascend in it. A notice says which profiles do not fit the family's axes. Throws
  /// the last DeviceFailure if every candidate of a rung failed, and Interrupted as soon as `stop` says so. Device and
  /// dispatcher must outlive the ladder.
  Ladder(Device& device, const Dispatcher& dispatcher, std::string axis, const std::vector<Problem>& problems,
         Notice notice = {}, const Stop& stop = {});

  [[nodiscard]] const std::vector<Rung>& rungs() const noexcept { return rungs_; }
  /// Index of the smallest rung with room for `size` on the ladder's axis; the last one if there is none.
  [[nodiscard]] std::size_t at(std::int64_t size) const noexcept;

  /// An execution of the rung's plan. `bind`: the memory it shares; may be empty. `probe`: a first run that shows
  /// whether it can be launched at all. Where either throws a DeviceFailure, the rung's next candidate takes its place,
  /// with a notice; after the last candidate the failure is passed on.
  [[nodiscard]] std::unique_ptr<Execution> prepare(std::size_t rung, std::int64_t samples,
                                                   const std::function<Bindings(const Rung&, const Plan&)>& bind,
                                                   const std::function<void(const Rung&, Execution&)>& probe);

 private:
  /// Compiles what has no binary yet, with the next candidates where that fails.
  void compile(const Stop& stop);
  /// Puts the next candidate in place of one that failed; throws the failure if it was the last.
  void advance(std::size_t rung, const DeviceFailure& failure);

  Device& device_;
  const Dispatcher& dispatcher_;
  std::string axis_;
  Notice notice_;
  std::vector<Rung> rungs_;
  std::vector<std::size_t> failed_;  // candidates of each rung that failed so far
};

}  // namespace heddle
