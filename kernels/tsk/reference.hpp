// The method in float64, as docs/design.md, "Batch least squares and gradient", writes it, with LAPACK's orthogonal
// factorisation for the least squares: what every kernel is compared with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heddle/kernels/tsk/system.hpp"

namespace heddle::tsk {

/// Rows and targets of one batch; views.
struct Batch {
  std::span<const float> rows;          ///< N x D, the rows held back last
  std::span<const float> targets;       ///< N x L
  std::span<const double> counts = {};  ///< N: how often each row occurs; empty: once
};

/// `kernels`: consequents, centres and widths are rounded as float32 is, and logarithms of activations, activations and
/// outputs as what takes several operations in float32: to 21 and 22 bits. `coarse`: all but centres and widths with 5
/// bits less. How far this is from float64 bounds what roundings of a kernel can do, where errors grow out of
/// proportion too: a row far from every rule falls to another one, and the next step goes elsewhere.
enum class Rounding { none, kernels, coarse };

class Reference {
 public:
  explicit Reference(const System& system, Rounding rounding = Rounding::none);

  [[nodiscard]] std::int64_t rules() const { return static_cast<std::int64_t>(centres_.size()) / dim_; }

  /// phi of every row, N x K.
  [[nodiscard]] std::vector<double> activations(std::span<const float> rows) const;
  /// y, L values.
  [[nodiscard]] std::vector<double> predict(std::span<const float> x) const;
  /// Over the rows: the sum over outputs of the squared error, its mean over the rows.
  [[nodiscard]] double error(std::span<const float> rows, std::span<const float> targets) const;

  /// theta from min ||Phi theta - Y||^2 + ridge ||theta||^2. `ridge`: as Control::ridge; kOwnRidge, if that is more,
  /// where Phi is rank deficient. Returns whether it was.
  bool solve(const Batch& batch, double ridge);
  /// Of error(): by the centres and by the widths, K x D each.
  struct Gradient {
    std::vector<double> centres, widths;
  };
  [[nodiscard]] Gradient gradient(const Batch& batch) const;

  struct Errors {
    double learnt = 0.0, held_back = 0.0;
  };
  /// One iteration: solve, errors, a step of centres and widths. The last control.held_back rows of the batch are held
  /// back. Nothing once progress says that training is over.
  Errors iterate(const Batch& batch, const Control& control, Progress& progress);

  [[nodiscard]] const std::vector<double>& centres() const { return centres_; }
  [[nodiscard]] const std::vector<double>& widths() const { return widths_; }
  [[nodiscard]] const std::vector<double>& consequents() const { return consequents_; }
  std::vector<double>& centres() { return centres_; }
  std::vector<double>& widths() { return widths_; }
  std::vector<double>& consequents() { return consequents_; }

 private:
  [[nodiscard]] std::int64_t terms() const { return order_ == 0 ? 1 : dim_ + 1; }
  [[nodiscard]] std::int64_t count(std::span<const float> rows) const;
  /// y of every row, N x L.
  [[nodiscard]] std::vector<double> outputs(std::span<const float> rows, std::span<const double> phi) const;
  [[nodiscard]] double error(std::span<const double> outputs, const Batch& batch) const;
  bool solve(const Batch& batch, std::span<const double> phi, double ridge);
  [[nodiscard]] Gradient gradient(const Batch& batch, std::span<const double> phi, std::span<const double> y) const;
  /// theta_k (1, x) for every output, L values.
  void consequent(std::int64_t rule, std::span<const float> x, std::span<double> values) const;
  /// Bits of what has so many at Rounding::kernels.
  [[nodiscard]] int bits_of(int bits) const;
  /// `value` with so many bits, where kernels round.
  [[nodiscard]] double rounded(double value, int bits) const;

  Rounding rounding_;
  std::int64_t dim_, outputs_;
  int order_;
  std::vector<double> centres_, widths_, consequents_;
};

}  // namespace heddle::tsk
