// What `heddle tune` searches: the families of a device, or a recording in the place of both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/cli/problems.hpp"
#include "heddle/tuner/evaluator.hpp"
#include "heddle/tuner/stop_condition.hpp"

namespace heddle::cli {

struct FamilyTask {
  const KernelFamily* family = nullptr;
  std::vector<Problem> problems;
};

class TuneTarget {
 public:
  virtual ~TuneTarget() = default;
  [[nodiscard]] virtual const std::string& label() const = 0;
  [[nodiscard]] virtual const DeviceIdentity& identity() const = 0;
  /// What limits it, in one line; mostly empty.
  [[nodiscard]] virtual std::string remark() const { return {}; }
  /// Families named by `families`, all that are tuned unasked if none is, each with the problems that `sizes` ask for.
  /// Throws Error(usage).
  [[nodiscard]] virtual std::vector<FamilyTask> tasks(const std::vector<std::string>& families,
                                                      const Sizes& sizes) const = 0;
  /// The target must outlive it.
  [[nodiscard]] virtual std::unique_ptr<Evaluator> evaluator(const KernelFamily& family, std::uint64_t seed) = 0;
  /// The one that budgets are counted on.
  [[nodiscard]] virtual StopCondition::Clock clock() const { return StopCondition::steady_clock(); }
  [[nodiscard]] virtual std::int64_t compiler_calls() const { return 0; }
};

/// The devices that `text` names: one label, several with commas between them, or "all" cards that can be used here.
/// Throws Error(device) if there is no card, Error(usage) for an empty label.
[[nodiscard]] std::vector<std::string> device_labels(const std::string& text);
/// The device with the families of `context`. Throws Error(device) for a device that does not answer.
/// `compile_seconds`: Compiling::seconds. `cold_cache`: DeviceEvaluator's.
[[nodiscard]] std::unique_ptr<TuneTarget> device_target(const Context& context, const std::string& device,
                                                        double compile_seconds, bool cold_cache);
/// Throws Error(input) for what is no recording.
[[nodiscard]] std::unique_ptr<TuneTarget> replay_target(const std::string& file);

}  // namespace heddle::cli
