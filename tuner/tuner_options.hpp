// What a user of the tuner decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "heddle/profiles/goal.hpp"
#include "heddle/tuner/objective.hpp"
#include "heddle/tuner/strategy.hpp"

namespace heddle {

struct TunerOptions {
  std::string strategy{strategies().front().name};
  std::uint64_t seed = 1;
  /// Repetitions of a configuration in the screening, unless it is pruned before.
  int screening_repetitions = 3;
  /// In the screening, a configuration whose cost is more than this factor times the pruning reference is pruned.
  double prune_factor = 1.25;
  /// Number of the fastest configurations that reach the finals, if their time is at most `finalist_factor` times the
  /// fastest. The default takes part as well, and so do named configurations within `prune_factor`.
  std::size_t finalists = 8;
  double finalist_factor = 1.1;
  /// `finalist_factor` for devices that do not share the host's processor. Their times are less noisy: in 450 finals on
  /// an H200, the winner was never more than 1.7 % behind in the screening.
  double quiet_finalist_factor = 1.02;
  /// Interleaved repetitions of the finals, of the fastest: at least; and at most, if it cannot be told before what is
  /// slower and what equally fast.
  int minimum_repetitions = 9;
  int maximum_repetitions = 31;
  /// On a CPU, more host threads are preferred over fewer only if their slowdown while one core is busy is at most the
  /// square of their speedup on a quiet machine, and at most `max_busy_core_loss`. Both are measured in
  /// `shared_core_turns` turns of `shared_core_turn` seconds.
  double max_busy_core_loss = 1.4;
  int shared_core_turns = 9;
  double shared_core_turn = 0.05;
  /// Whether untuned sizes between the problems are visited after the problems, in the budget that is left. The
  /// dispatcher then also has winners at sizes that are no powers of two.
  bool tune_sizes_between = false;
  /// Whether the energy of the finalists is measured, about a second each, where the device has a counter.
  bool energy = false;
  /// What the search makes small. Nothing: the time. Configurations are then not stopped early, because their time
  /// does not say what they are worth, and of processor threads the tuner takes as many as the winner has. The winner
  /// replaces the stored profile, whatever that one's time.
  std::shared_ptr<const Objective> objective = {};
  /// Whether kernels are timed one launch at a time, each with nothing of its data in the device's cache. The winner
  /// replaces the stored profile, whatever that one's time.
  bool cold_cache = false;

  /// What the profiles that a run makes are for.
  [[nodiscard]] Goal goal() const { return Goal::of(objective ? objective->text() : "time", cold_cache); }
  /// The search for one problem ends when this many configurations in a row were not faster. Nothing: no such limit.
  std::optional<std::int64_t> patience = {};
  /// The search also ends when it reaches this fraction of the roofline bound: the speed at which the bytes and
  /// operations of KernelFamily::work() take place at the peak rates (a rate of 0 does not limit). Nothing: no such
  /// limit.
  std::optional<double> target = {};
  double peak_bytes_per_second = 0.0;
  double peak_operations_per_second = 0.0;
};

}  // namespace heddle
