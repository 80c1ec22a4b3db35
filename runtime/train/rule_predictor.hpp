// Outputs of fuzzy rules for many rows at once, on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "heddle/kernels/sonfin/network.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/plan/tuned_ladder.hpp"

namespace heddle {

/// Batch prediction with networks of up to `max_rules` rules. All networks have the same dim and outputs. Compiles in
/// its constructor. Calls from one thread at a time; the device must outlive it.
class RulePredictor {
 public:
  /// `max_rules`: at least 1. Throws Interrupted as soon as `stop` says so.
  RulePredictor(Device& device, const Knowledge& known, std::int64_t dim, std::int64_t outputs, std::int64_t max_rules,
                const Notice& notice = {}, const Stop& stop = {});
  ~RulePredictor();
  RulePredictor(RulePredictor&&) noexcept;

  /// `rows`: N x D, scaled as the network was taught. Returns N x L outputs. The network has from 1 to max_rules rules.
  [[nodiscard]] std::vector<float> predict(const sonfin::Network& network, std::span<const float> rows);
  /// The candidate that predict() runs for a network with this many rules.
  [[nodiscard]] const Candidate& candidate(std::int64_t rules) const;

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace heddle
