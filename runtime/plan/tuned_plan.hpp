// A family's plan for one problem, ready to run: chosen from the profiles, compiled, prepared on a device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/dispatch/candidate_row.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"

namespace heddle {

/// Which configuration runs depends on problem and profiles alone (and on which candidates fail or spill registers),
/// never on how long anything took. It is fixed before the first launch that counts. Calls from one thread at a time;
/// the device must outlive the plan.
class TunedPlan {
 public:
  /// Chooses for every problem and compiles all choices in one batch; the plans are in the order of the problems. Where
  /// a choice does not compile, or spills registers that it did not where it was measured (spilling()), the problem's
  /// next candidate takes its place, with a notice; a stale choice is used with a notice. Throws the last DeviceFailure
  /// if every candidate of a problem failed, and Interrupted as soon as `stop` says so.
  [[nodiscard]] static std::vector<TunedPlan> choose(Device& device,
                                                     const std::shared_ptr<const Dispatcher>& dispatcher,
                                                     const std::vector<Problem>& problems, const Notice& notice = {},
                                                     const Stop& stop = {});

  /// For one problem.
  [[nodiscard]] static TunedPlan choose(Device& device, const std::shared_ptr<const Dispatcher>& dispatcher,
                                        const Problem& problem, const Notice& notice = {}, const Stop& stop = {});

  [[nodiscard]] const Problem& problem() const noexcept { return row_.problem(); }
  [[nodiscard]] const Candidate& candidate() const { return row_.current(); }
  [[nodiscard]] const Configuration& configuration() const { return candidate().configuration; }

  /// How a program is going to run the plan.
  struct Use {
    std::int64_t samples = 1;  ///< that one run handles at most
    /// The memory that the plan shares with others; may be empty.
    std::function<Bindings(const TunedPlan&, const Plan&)> bind = {};
    /// A first run, which shows whether the plan can be launched at all; may be empty.
    std::function<void(const TunedPlan&, Execution&)> probe = {};
  };
  /// Makes the execution. Where loading, `bind` or `probe` throws a DeviceFailure, the next candidate takes the place
  /// of the present one, with a notice. After the last candidate the failure is passed on, and so is one that may have
  /// taken the device down, since nothing else would run there either.
  Execution& prepare(const Use& use);
  [[nodiscard]] bool prepared() const noexcept { return execution_ != nullptr; }
  /// Of the last prepare(). Throws Error(bug) if there was none.
  [[nodiscard]] Execution& execution() const;

 private:
  TunedPlan(Device& device, std::shared_ptr<const Dispatcher> dispatcher, const Problem& problem, Notice notice);

  /// Compiles what has no binary yet in one batch, with the next candidates where that fails.
  static void compile(std::span<TunedPlan> plans, const Stop& stop);
  /// Puts the next candidate in place of one whose compiled kernels spill.
  void pass_over_if_spilling(const Stop& stop);
  /// Puts the next candidate in place of one that failed; throws the failure if it was the last.
  void replace(const DeviceFailure& failure);

  Device* device_;
  std::shared_ptr<const Dispatcher> dispatcher_;
  Notice notice_;
  CandidateRow row_;
  std::shared_ptr<const Binary> binary_;
  std::unique_ptr<Execution> execution_;
};

/// A dispatcher for `family` on `device`, to be shared by plans.
[[nodiscard]] std::shared_ptr<const Dispatcher> share_dispatcher(const Device& device, const KernelFamily& family,
                                                                 const Knowledge& known);

}  // namespace heddle
