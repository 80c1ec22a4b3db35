// Predictions of multilayer perceptrons.
#pragma once

#include "heddle/runtime/plan/tuned_plan.hpp"
#include "heddle/runtime/train/predictor.hpp"

namespace heddle {

class MlpPredictor final : public Predictor {
 public:
  /// For networks with the same layers as `network`. Throws Interrupted as soon as `stop` says so.
  MlpPredictor(Device& device, const Knowledge& known, const MlpModel& network, const Notice& notice = {},
               const Stop& stop = {});

  [[nodiscard]] std::vector<float> predict(const AnyNetwork& network, std::span<const float> rows) override;
  [[nodiscard]] const Candidate& candidate(const AnyNetwork&) const override { return plan_.candidate(); }

 private:
  TunedPlan plan_;
};

}  // namespace heddle
