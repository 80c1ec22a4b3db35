// Seeded samples and networks like those of a training run, and the comparison with the float64 reference.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/sonfin/network.hpp"

namespace heddle::sonfin {

struct Workload {
  Network network;  ///< before the run
  Hyperparameters options;
  std::vector<float> rows;          ///< N x D
  std::vector<float> targets;       ///< N x L
  std::vector<std::int32_t> order;  ///< N, a permutation
  std::int64_t samples() const { return static_cast<std::int64_t>(order.size()); }
};

/// `rules` rules whose widths overlap as structure learning leaves them, and rows near them, so that firing is as
/// peaked as in training and every rule wins at times. `Purpose::timing`: the rule count stays fixed.
/// `Purpose::verification`: starts with rules - 1 (at least 1) rules and at least one row far from all of them adds
/// one (for rules = 1: starts with none). Same arguments, same bytes.
[[nodiscard]] Workload workload(const Problem& problem, std::int64_t samples, Purpose purpose, std::uint64_t seed);
/// What the reference makes of a workload, sample after sample.
struct Expectation {
  std::int64_t dim = 0, outputs = 0, rules = 0, samples = 0;
  double loss = 0.0;                                 ///< sum of E
  Network before;                                    ///< with what the rules that were added were made with
  std::vector<double> centres, widths, consequents;  ///< after; shapes as in Network
};
[[nodiscard]] Expectation expectation(const Workload& workload);

/// A workload that many trials share.
class SharedWorkload : public Workload {
 public:
  explicit SharedWorkload(Workload workload) : Workload(std::move(workload)) {}
  /// Worked out when it is first asked for. Thread-safe.
  [[nodiscard]] const Expectation& expected() const;

 private:
  mutable std::once_flag once_;
  mutable Expectation expected_;
};
/// workload() of the same arguments. The last few are kept: a tuner asks for the same ones with every configuration.
/// Thread-safe.
[[nodiscard]] std::shared_ptr<const SharedWorkload> shared_workload(const Problem& problem, std::int64_t samples,
                                                                    Purpose purpose, std::uint64_t seed);

/// The changes of all parameters from `expected.before` to `after`, against those of the reference: over all
/// parameters the norm of the difference is at most 0.1 % of the norm of the change; for every rule whose change
/// exceeds a millionth of the largest, at most 1 %. `progress` must agree in rules, position and (to 0.1 %) loss.
[[nodiscard]] Accuracy compare_training(const Expectation& expected, const Network& after, const Progress& progress);

/// Outputs N x L of the batch prediction against the reference: norm of the difference at most 1e-4 of the norm.
[[nodiscard]] Accuracy compare_prediction(const Workload& workload, const std::vector<float>& outputs);

}  // namespace heddle::sonfin
