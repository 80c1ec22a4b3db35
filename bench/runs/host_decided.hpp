// Training as published for GPU-FNN: the device fires a sample, the host reads the firing strengths, decides about a
// new rule and writes it, and the device learns. At the most rules allowed nothing is read any more. What the whole
// system cost, as far as it can be rebuilt here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/train/sonfin_learner.hpp"

namespace heddle::bench {

/// The named configuration "gpu-fnn". Throws Error(usage) for more than 1024 inputs, which the mapping cannot take.
[[nodiscard]] Configuration gpu_fnn(const DeviceIdentity& device, const Problem& problem);

/// GPU-FNN with one execution per capacity as SonfinLearner has them, so that blocks without a rule do not count.
/// Device and rows must outlive it.
class HostDecidedLearner {
 public:
  /// A variant of GPU-FNN for the problem of a capacity.
  using Variant = std::function<Configuration(const Problem&)>;
  HostDecidedLearner(Device& device, const LearningRows& rows, std::int64_t max_rules, const Variant& variant);
  ~HostDecidedLearner();

  /// Learns all rows in this order, from `network`.
  void learn(const sonfin::Network& network, const sonfin::Control& control, const std::vector<std::int32_t>& order);

  [[nodiscard]] std::int64_t rules() const;
  [[nodiscard]] double loss() const;  ///< the sum of E over the rows of learn()
  [[nodiscard]] sonfin::Network network();

 private:
  struct Rung;

  Rung& rung() { return *rungs_[rung_]; }
  void load(std::size_t rung, const sonfin::Network& network);
  void decide(std::int32_t row);
  void read_firing();
  void add_rule(std::int32_t row, std::int64_t leader);

  const LearningRows& rows_;
  std::vector<std::unique_ptr<Rung>> rungs_;
  std::size_t rung_ = 0;
  sonfin::Control control_{};
  sonfin::Progress progress_{};
  std::vector<float> log_firing_;
};

}  // namespace heddle::bench
