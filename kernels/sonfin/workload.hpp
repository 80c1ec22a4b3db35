// Seeded samples and networks like those of a training run.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/random.hpp"
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
/// peaked as in training and every rule wins at times. The rule count stays fixed. Same arguments, same bytes.
[[nodiscard]] Workload timing_workload(const Problem& problem, std::int64_t samples, std::uint64_t seed);
/// timing_workload() of the same arguments. The last few are kept: a tuner asks for the same ones with every
/// configuration. Thread-safe.
[[nodiscard]] std::shared_ptr<const Workload> shared_timing_workload(const Problem& problem, std::int64_t samples,
                                                                     std::uint64_t seed);

/// Zeros of these sizes, and the order 0, 1, 2, ...
[[nodiscard]] Workload empty_workload(std::int64_t rules, std::int64_t dim, std::int64_t outputs, std::int64_t samples);
/// Consequents within 1/2 of zero; the target of a row is beyond 1 in the direction that its topic says (a class, or
/// the sign of a single output): errors do not vanish, and rows of one topic do not undo each other's steps. `topics`:
/// one of each row.
void fill_outputs(Workload& work, const std::vector<std::int64_t>& topics, Random& random);

}  // namespace heddle::sonfin
