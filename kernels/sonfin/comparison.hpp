// Results of kernels against the float64 reference.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/workload.hpp"
#include "heddle/kernels/verification.hpp"

namespace heddle::sonfin {

/// The result of the reference on a workload, sample after sample.
struct Expectation {
  std::int64_t dim = 0, outputs = 0, rules = 0, samples = 0;
  std::int64_t present = 0;                          ///< of `rules`: those that were there before
  double loss = 0.0;                                 ///< sum of E
  Network before;                                    ///< with what the rules that were added were made with
  std::vector<double> centres, widths, consequents;  ///< after; shapes as in Network
};
/// Of the first `samples` samples.
[[nodiscard]] Expectation expectation(const Workload& work, std::int64_t samples);
[[nodiscard]] inline Expectation expectation(const Workload& work) { return expectation(work, work.samples()); }

/// The changes of all parameters from `expected.before` to `after`, against those of the reference: over all
/// parameters the norm of the difference is at most 0.1 % of the norm of the change; for every rule whose change
/// exceeds a millionth of the largest, and for all centres, all widths and all consequents, at most 1 %. Rounding is
/// allowed for: that of the sum over the inputs which a new rule's widths are made of, and that of parameters of which
/// each kind as a whole keeps no more. `progress` must agree in rules, position and (to 0.1 %) loss.
[[nodiscard]] Accuracy compare_training(const Expectation& expected, const Network& after, const Progress& progress);

/// How far `after` is from the reference, in units of what rounding explains: a parameter that is rounded to float32
/// after each of n samples walks sqrt(n) 2^-24 of its value away. The largest of the norms over all centres, all widths
/// and all consequents. Infinite for NaN, and for other counts.
[[nodiscard]] double distance_of_training(const Expectation& expected, const Network& after, const Progress& progress);
/// Likewise from where another run ended.
[[nodiscard]] double distance_of_training(const Network& expected, const Progress& expected_progress,
                                          const Network& after, const Progress& progress);
/// Likewise for another run of the reference.
[[nodiscard]] double distance_of_training(const Expectation& expected, const Expectation& found);
/// The workload with every parameter larger or smaller by as much as rounding may move it within `samples` samples: a
/// network that begins one unit of distance_of_training() away. Same arguments, same bytes.
[[nodiscard]] Workload disturbed(Workload work, std::int64_t samples, std::uint64_t seed);

/// y of many rows, N x L.
[[nodiscard]] std::vector<double> predictions(const Network& network, const std::vector<float>& rows);
/// Outputs against those of the reference: norm of the difference over the norm; infinite for NaN.
[[nodiscard]] double error_of_prediction(const std::vector<double>& expected, const std::vector<float>& outputs);
/// At most 1e-4.
[[nodiscard]] Accuracy compare_prediction(const std::vector<double>& expected, const std::vector<float>& outputs);

}  // namespace heddle::sonfin
