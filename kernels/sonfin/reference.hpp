// SONFIN in float64, as docs/design.md, "The network", writes it: what every kernel is compared with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heddle/kernels/sonfin/network.hpp"

namespace heddle::sonfin {

/// Gradients of E = 1/2 sum_l e_l^2 at the parameters of a Reference; shapes as in Network.
struct Gradients {
  std::vector<double> centres, widths, consequents;
};

class Reference {
 public:
  Reference(std::int64_t dim, std::int64_t outputs, Hyperparameters options);
  Reference(const Network& network, Hyperparameters options);

  [[nodiscard]] std::int64_t dim() const { return dim_; }
  [[nodiscard]] std::int64_t outputs() const { return outputs_; }
  [[nodiscard]] std::int64_t rules() const { return static_cast<std::int64_t>(centres_.size()) / dim_; }
  Hyperparameters& options() { return options_; }

  /// y, L values, of one row of D inputs. Needs at least one rule.
  [[nodiscard]] std::vector<double> predict(std::span<const float> x) const;
  /// E of one sample.
  [[nodiscard]] double loss(std::span<const float> x, std::span<const float> target) const;
  [[nodiscard]] Gradients gradients(std::span<const float> x, std::span<const float> target) const;
  /// Rule decision, then one update, all from the parameters before it. Returns E, and whether a rule was added.
  struct Outcome {
    double loss = 0.0;
    bool added = false;
  };
  Outcome learn(std::span<const float> x, std::span<const float> target);

  std::vector<double>& centres() { return centres_; }
  std::vector<double>& widths() { return widths_; }
  std::vector<double>& consequents() { return consequents_; }
  [[nodiscard]] const std::vector<double>& centres() const { return centres_; }
  [[nodiscard]] const std::vector<double>& widths() const { return widths_; }
  [[nodiscard]] const std::vector<double>& consequents() const { return consequents_; }
  /// Rounded to float32.
  [[nodiscard]] Network network() const;

 private:
  struct Forward {
    std::vector<double> log_firing, normalised, output;
  };
  [[nodiscard]] Forward forward(std::span<const float> x) const;
  /// Of rule `k` alone.
  [[nodiscard]] Gradients gradients_of_rule(std::int64_t k, std::span<const float> x, std::span<const float> target,
                                            const Forward& f) const;

  std::int64_t dim_, outputs_;
  Hyperparameters options_;
  std::vector<double> centres_, widths_, consequents_;
};

}  // namespace heddle::sonfin
