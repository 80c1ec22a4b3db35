// What a model has of a multilayer perceptron.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/mlp/network.hpp"
#include "heddle/runtime/model/network_kind.hpp"

namespace heddle {

/// Sums over a layer of larger weights are infinite in float32.
constexpr float kLargestWeightOfLayer = 1e30F;

/// The functions: see NetworkKind.
struct MlpModel {
  static constexpr std::string_view kName = "mlp";

  mlp::Layers layers{};
  mlp::Activation hidden = mlp::kRelu, output = mlp::kLinear;
  std::vector<float> parameters;  ///< in the layout of mlp::Layers; none before the first epoch
  /// Where training goes on from.
  struct Learning {
    std::vector<float> parameters;
    std::vector<float> state;  ///< as many arrays as the rule uses, mlp::state_arrays()
    mlp::Progress progress{};  ///< not halted
  };
  std::optional<Learning> last;

  /// Without weights; the output is not chosen yet.
  [[nodiscard]] static MlpModel untaught(std::int64_t dim, std::int64_t outputs);

  [[nodiscard]] std::int64_t dim() const { return layers.inputs(); }
  [[nodiscard]] std::int64_t outputs() const { return layers.outputs(); }
  [[nodiscard]] NetworkSize size() const;
  [[nodiscard]] std::string unready() const;
  [[nodiscard]] double largest_input() const;
  void check(const std::string& source) const;
  void encode(nlohmann::json& into) const;
  [[nodiscard]] static MlpModel decode(const CborMap& from);
  [[nodiscard]] Description describe(const Model& model) const;
  [[nodiscard]] nlohmann::ordered_json document(const Model& model) const;

  /// The most bytes that its numbers take in a file.
  [[nodiscard]] std::int64_t largest_bytes() const;
};

/// "sigmoid", "tanh", "relu", "linear", "softmax"
[[nodiscard]] std::string_view text(mlp::Activation activation);
/// Nothing for another word.
[[nodiscard]] std::optional<mlp::Activation> activation_of(std::string_view word);

/// Why a network's weights cannot be used, "inf at weight 3, expected ..."; empty if all are finite and float32 holds
/// what is computed from them and inputs of up to the size `input`, which largest_input() then is not below. `input`:
/// up to 1e30.
[[nodiscard]] std::string fault_of_weights(const MlpModel& network, double input = 1.0);
/// Why training cannot go on from there, "inf at state 3, expected ..."; empty if all numbers are finite and of a size
/// that rules can work with.
[[nodiscard]] std::string fault_of_learning(const MlpModel::Learning& learning);

}  // namespace heddle
