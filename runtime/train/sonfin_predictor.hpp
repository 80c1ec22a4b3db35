// Predictions of self-constructing neural fuzzy networks.
#pragma once

#include "heddle/runtime/train/predictor.hpp"
#include "heddle/runtime/train/rule_predictor.hpp"

namespace heddle {

class SonfinPredictor final : public Predictor {
 public:
  /// For networks like `network` with up to `max_rules` rules. Throws Interrupted as soon as `stop` says so.
  SonfinPredictor(Device& device, const Knowledge& known, const SonfinModel& network, std::int64_t max_rules,
                  const Notice& notice = {}, const Stop& stop = {});

  [[nodiscard]] std::vector<float> predict(const AnyNetwork& network, std::span<const float> rows) override;
  [[nodiscard]] const Candidate& candidate(const AnyNetwork& network) const override;

 private:
  RulePredictor rules_;
};

}  // namespace heddle
