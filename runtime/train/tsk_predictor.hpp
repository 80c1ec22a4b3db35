// Predictions of Takagi-Sugeno-Kang systems.
#pragma once

#include "heddle/runtime/train/predictor.hpp"
#include "heddle/runtime/train/rule_predictor.hpp"

namespace heddle {

/// Uses the kernels for SONFIN networks, which average numbers over the rules: the L constants of each rule or, of
/// consequents that are linear in the inputs, all (1 + D) L numbers, from which the host computes the outputs.
class TskPredictor final : public Predictor {
 public:
  /// For systems with the same rules, inputs, outputs and order as that of `network`. Throws Interrupted as soon as
  /// `stop` says so.
  TskPredictor(Device& device, const Knowledge& known, const TskModel& network, const Notice& notice = {},
               const Stop& stop = {});

  [[nodiscard]] std::vector<float> predict(const AnyNetwork& network, std::span<const float> rows) override;
  [[nodiscard]] const Candidate& candidate(const AnyNetwork& network) const override;

 private:
  RulePredictor rules_;
};

}  // namespace heddle
