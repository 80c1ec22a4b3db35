// The fake family with a model of times: it counts the parts of what fake::FakeEvaluator makes up.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "fake_family.hpp"

namespace heddle::fake {

class CountingFamily : public Family {
 public:
  std::span<const std::string_view> cost_terms(std::string_view) const override {
    static constexpr std::array<std::string_view, 4> kTerms{"unused", "once", "widths off", "depths off"};
    return kTerms;
  }
  TermCounts term_counts(const Configuration& configuration, const DeviceIdentity&) const override {
    const auto width = static_cast<double>(configuration.number("width"));
    const auto depth = static_cast<double>(configuration.number("depth"));
    return {.first = 1, .size = 3, .count = [width, depth](const Problem& problem, std::span<double> counts) {
              const double target = std::min(20.0, 4.0 + std::log2(static_cast<double>(problem.at("size"))));
              counts[0] = 1.0;
              counts[1] = std::abs(width - target);
              counts[2] = std::abs(depth - 4.0);
            }};
  }
};

}  // namespace heddle::fake
