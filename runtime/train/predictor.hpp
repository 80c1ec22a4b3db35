// Outputs of a network for many rows at once, on a device. Each trainer supplies one: Trainer::predictor().
#pragma once

#include <span>
#include <vector>

#include "heddle/runtime/dispatch/candidate.hpp"
#include "heddle/runtime/model/network.hpp"

namespace heddle {

/// For networks of one kind with the same inputs and outputs, up to some size. Calls from one thread at a time; the
/// device must outlive it.
class Predictor {
 public:
  virtual ~Predictor() = default;
  /// `rows`: N x D, scaled as the network was taught. Returns N x L outputs. The network is ready to predict.
  [[nodiscard]] virtual std::vector<float> predict(const AnyNetwork& network, std::span<const float> rows) = 0;
  /// What predict() runs for this network.
  [[nodiscard]] virtual const Candidate& candidate(const AnyNetwork& network) const = 0;
};

}  // namespace heddle
