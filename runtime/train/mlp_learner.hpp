// Steps of learning of a multilayer perceptron on a device.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/kernels/mlp/network.hpp"
#include "heddle/runtime/model/mlp_model.hpp"
#include "heddle/runtime/plan/tuned_plan.hpp"
#include "heddle/runtime/train/active_inputs.hpp"
#include "heddle/runtime/train/training_data.hpp"

namespace heddle {

/// Results depend on what it is given, device and profiles alone, never on how the steps are divided into runs. Its
/// kernels have the active inputs alone; what it is given and what it returns is of the whole network.
class MlpLearner {
 public:
  /// `samples`: rows that one run shall handle. Rows are those of `control`, and in its batches; their order is that of
  /// `seed`, where it changes. `resumed`: what an earlier session left, that begin() gets; null if there was none.
  /// Throws DeviceFailure, and Interrupted as soon as `stop` says so.
  MlpLearner(Device& device, const Knowledge& known, const LearningRows& rows, const mlp::Layers& layers,
             const mlp::Control& control, const MlpModel::Learning* resumed, std::uint64_t seed, std::int64_t samples,
             const Notice& notice, const Stop& stop);

  /// Goes on from here.
  void begin(const MlpModel::Learning& from);
  /// One run, up to the end of epoch `end` at most. Returns for each epoch that ended the sum of squared errors of its
  /// rows, each before its step.
  std::vector<double> advance(std::int64_t end);

  [[nodiscard]] const mlp::Progress& progress() const { return progress_; }
  [[nodiscard]] std::vector<float> parameters();
  /// All that training goes on from.
  [[nodiscard]] MlpModel::Learning learning();
  [[nodiscard]] std::int64_t rows_of_step() const { return control_.batch; }
  [[nodiscard]] const Problem& problem() const { return plan_.problem(); }
  [[nodiscard]] const Candidate& candidate() const { return plan_.candidate(); }

 private:
  /// The orders of the epochs that the next run may touch, as the control says.
  void write_orders();

  [[nodiscard]] int state_arrays() const;
  /// Arrays of active parameters.
  [[nodiscard]] std::vector<float> floats_of(const char* buffer, int arrays);

  Device& device_;
  ActiveInputs inputs_;
  std::vector<float> resting_parameters_, resting_state_;  ///< state_arrays() of them
  mlp::Control control_;
  std::uint64_t seed_;
  mlp::Progress progress_{};
  TunedPlan plan_;
};

}  // namespace heddle
