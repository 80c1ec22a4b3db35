// Perceptrons in float64, as docs/design.md, "Perceptrons", writes them: what every kernel is compared with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heddle/kernels/mlp/control.cuh"

namespace heddle::mlp {

/// Rows and targets; views.
struct Batch {
  std::span<const float> rows;               ///< N x inputs
  std::span<const float> targets;            ///< N x outputs
  std::span<const std::int32_t> order = {};  ///< of the epoch under way, N; empty: as they come
};

/// Of a sum over rows.
struct Gradient {
  std::vector<double> values;  ///< by the parameters, in their layout
  double squares = 0.0;        ///< of the errors, over the outputs
  double loss = 0.0;           ///< what `values` is the gradient of: half the squares, or the cross-entropy
  /// By how much rounding to float32 may change the norm of a layer's gradient. In every row: a millionth of what the
  /// row adds; what a millionth of the outputs, and of the slopes of neurons that may be saturated, comes to in the
  /// layers before them; and all that a neuron of ReLU adds whose sum float32 cannot tell from 0.
  std::vector<double> unsure;
};

class Reference {
 public:
  Reference(const Layers& layers, std::span<const float> parameters, std::span<const float> state = {},
            const Progress& progress = {});

  /// Values of all neurons of layer `layer`, 1 (first hidden) to layers.count (outputs), for one row.
  [[nodiscard]] std::vector<double> layer(std::span<const float> row, int layer, Activation hidden,
                                          Activation output) const;
  /// N x outputs.
  [[nodiscard]] std::vector<double> predict(std::span<const float> rows, Activation hidden, Activation output) const;
  /// Over rows `first` to `first + count` of the batch's order.
  [[nodiscard]] Gradient gradient(const Batch& batch, std::int64_t first, std::int64_t count, Activation hidden,
                                  Activation output) const;

  /// One step, as goes_on(), count_step() and the rule say. Returns whether there was one. The order of an epoch is
  /// that of `batch`, whatever the epoch.
  bool step(const Batch& batch, const Control& control);
  /// What the rule does with a gradient that is known; `values`: already a sum or a mean, as the control says. Returns
  /// what became of the step.
  Decision learn(const Control& control, double squares, std::span<const double> values);

  [[nodiscard]] const std::vector<double>& parameters() const { return parameters_; }
  std::vector<double>& parameters() { return parameters_; }
  /// kStateArrays x parameters.
  [[nodiscard]] const std::vector<double>& state() const { return state_; }
  [[nodiscard]] const Progress& progress() const { return progress_; }
  [[nodiscard]] const std::vector<double>& errors() const { return errors_; }  ///< squares of whole epochs done

 private:
  struct Pass {
    std::vector<std::vector<double>> values;    ///< of every layer, the inputs first
    std::vector<std::vector<bool>> close_to_0;  ///< of the same: sums that float32 cannot tell from 0
  };
  [[nodiscard]] Pass forward(std::span<const float> row, Activation hidden, Activation output) const;
  /// By what each layer's weights multiply the norm of what its neurons hand back to those before them: the root mean
  /// square over all directions.
  [[nodiscard]] std::vector<double> growth_of_deltas() const;

  Layers layers_;
  std::vector<double> parameters_, state_;
  Progress progress_;
  std::vector<double> errors_;
};

}  // namespace heddle::mlp
