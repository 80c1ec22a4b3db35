// A Gaussian process over encoded configurations: predicts the cost of an untried one and the uncertainty of the
// prediction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "heddle/tuner/space/candidate_space.hpp"

namespace heddle {

/// Regression with an additive kernel (Duvenaud, Nickisch, Rasmussen 2011):
///
/// k = w1 mean_p(k_p) + w2 mean_pq(k_p k_q) + w3 prod_p(k_p) + w4 mean_pq(h_pq)
///
/// - The first three terms are the effects of single parameters, of pairs, and of all parameters together. k_p is a
///   Matern 3/2 kernel over the positions of parameter p's levels, times one over their evenness.
/// - h_pq is the effect of the product and the quotient of two parameters: a Matern 3/2 kernel over the octaves between
///   them. The mean is over all pairs of parameters that have more than two values, all above 0. Threads per block,
///   work per thread and bytes per tile are such products.
///
/// Length scales, weights and noise are those of the highest posterior density that a random walk finds. The amplitude
/// is integrated out.
class GaussianProcess {
 public:
  explicit GaussianProcess(const CandidateSpace& space);

  /// Chooses the hyperparameters by `values` (any unit, mean 0) of `points`; starts from those found before. Afterwards
  /// the process knows no points.
  void fit(const std::vector<std::size_t>& points, const std::vector<double>& values, std::uint64_t seed);

  /// From now on predictions follow from these points; cheap if they begin as the last ones did. O(candidates) per
  /// point in memory, times points in time for those that are new.
  void condition(const std::vector<std::size_t>& points);

  /// The points to predict for; none at first. Afterwards the process knows no points.
  void replace_candidates(const std::vector<std::size_t>& candidates);
  /// Adds candidates that are not there yet. O(points^2) each.
  void consider(const std::vector<std::size_t>& candidates);

  [[nodiscard]] const std::vector<std::size_t>& candidates() const noexcept { return candidates_; }
  /// Variance at each candidate relative to the prior's: 1 far from all points, near 0 at one.
  [[nodiscard]] const std::vector<float>& variance() const noexcept { return variance_; }
  /// The prediction for values of the first points of condition(), kept up to date: cheap if all that changed since the
  /// last update are values at the end. Points behind them are believed to come out as predicted, which lowers the
  /// variance and leaves the mean as it is.
  struct Mean {
    std::vector<float> at;      ///< each candidate, in the unit of the values
    std::vector<double> white;  ///< L^-1 values

   private:
    friend class GaussianProcess;
    std::vector<double> values;
    std::uint64_t generation = 0;
  };
  void update(Mean& mean, const std::vector<double>& values) const;

 private:
  struct Hyperparameters {
    std::vector<double> position_scale;  ///< inverse length, one per parameter
    std::vector<double> evenness_scale;  ///< likewise
    double noise = 1e-2;                 ///< variance relative to the prior's
    double alone = 0.3, pairs = 0.3;     ///< w1 and w2 as shares of what w4 leaves; w3 is the rest
    double products = 0.2;               ///< w4
  };
  using Bin = std::uint8_t;
  struct Parameter {
    std::size_t bins = 0;
    std::vector<float> position_gap, evenness_gap;  // [bin][bin]
    bool has_evenness = false;
    std::vector<int> height;    // of each bin, in steps of a fraction of an octave
    std::vector<float> kernel;  // [bin][bin], of the scales tabulated last
    std::pair<double, double> tabulated{0.0, 0.0};
  };

  void tabulate(const Hyperparameters& hyperparameters);
  void tabulate(const Hyperparameters& hyperparameters, std::size_t parameter);
  /// The part of the kernel that products and quotients share: k of w4, the same whatever the hyperparameters.
  [[nodiscard]] float likeness(std::size_t a, std::size_t b) const;
  [[nodiscard]] float covariance(std::size_t a, std::size_t b, float likeness) const;
  [[nodiscard]] float covariance(std::size_t a, std::size_t b) const { return covariance(a, b, likeness(a, b)); }
  /// Of a point and the candidates from `first` on.
  [[nodiscard]] std::vector<float> covariances(std::size_t point, std::size_t first);
  /// likeness() of a point and all candidates.
  const std::vector<float>& likenesses(std::size_t point);
  /// `likenesses`: [point][point].
  [[nodiscard]] double log_posterior(const Hyperparameters& hyperparameters, const std::vector<std::size_t>& points,
                                     const std::vector<float>& likenesses, const std::vector<double>& values);
  void append(std::size_t point);
  /// Computes a row of `whitened_` for the candidates from `first` on, and what it takes from their variance.
  void project(std::size_t row, std::size_t first);
  void forget_points();

  /// Bins the configurations that have been numbered since the last call.
  void bin_configurations();

  const CandidateSpace& space_;
  std::vector<Parameter> parameters_;
  std::vector<std::vector<Bin>> bin_of_;  // [parameter][level]
  std::vector<Bin> bins_;                 // [configuration][parameter]
  Hyperparameters hyperparameters_;
  float alone_ = 0.0F, pairs_ = 0.0F, together_ = 1.0F, products_ = 0.0F;  // weights of the present tables
  std::vector<std::pair<std::size_t, std::size_t>> products_of_;           // pairs of parameters
  std::vector<float> falloff_;                                             // kernel of w4, by steps of height

  std::vector<std::size_t> candidates_;
  std::vector<std::vector<Bin>> candidate_bins_;  // [parameter][candidate]
  std::vector<std::size_t> points_;
  std::vector<std::vector<double>> factor_;   // rows of the Cholesky factor L of the points' covariance
  std::vector<std::vector<float>> whitened_;  // rows of L^-1 k(points, candidates)
  std::vector<float> variance_;
  std::unordered_map<std::size_t, std::vector<float>> likenesses_;  // of points and the candidates
  std::uint64_t generation_ = 1;  // changes when what is in `whitened_` is replaced or gets more columns
};

}  // namespace heddle
