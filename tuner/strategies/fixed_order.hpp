// The common part of strategies that decide on their order before anything is measured.
#pragma once

#include <utility>
#include <vector>

#include "heddle/tuner/strategy.hpp"

namespace heddle {

/// Every configuration of a listed space once, in an order that depends on the seed and on each configuration's text.
[[nodiscard]] std::vector<std::size_t> random_order(const CandidateSpace& space, std::uint64_t seed);

/// Proposes the configurations in the given order and skips those that were observed meanwhile.
class FixedOrder final : public Strategy {
 public:
  /// `order`: every index once.
  explicit FixedOrder(std::vector<std::size_t> order) : order_(std::move(order)), observed_(order_.size(), false) {}

  std::vector<std::size_t> next(std::size_t at_most) override {
    std::vector<std::size_t> proposals;
    for (; position_ < order_.size() && proposals.size() < at_most; ++position_) {
      if (!observed_[order_[position_]]) proposals.push_back(order_[position_]);
    }
    return proposals;
  }
  void observe(std::size_t configuration, const Observation&) override { observed_.at(configuration) = true; }

 private:
  std::vector<std::size_t> order_;
  std::size_t position_ = 0;
  std::vector<bool> observed_;
};

}  // namespace heddle
