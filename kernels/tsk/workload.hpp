// Seeded rows and systems like those of a training run.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/kernels/tsk/system.hpp"

namespace heddle::tsk {

/// The rows of a workload in which rows occur several times.
struct DistinctRows {
  std::vector<float> rows;     ///< M x D
  std::vector<float> targets;  ///< M x L
  std::vector<double> counts;  ///< M: how often each occurs
};

struct Workload {
  System system;  ///< before the run
  Control control{};
  Progress progress{};
  std::vector<float> rows;     ///< N x D, the rows held back last
  std::vector<float> targets;  ///< N x L
  DistinctRows distinct = {};  ///< of the rows, none of which is held back; empty if all differ
};

/// `rules` rules that overlap as an even grid of sets does, rows among them, targets that no such system fits. All N
/// rows of the problem; training does not end. Same arguments, same bytes.
///
/// Beyond distinct_rows() rows they repeat each other, so that the reference, which needs each of them once, knows the
/// result for all N. Each place draws from a quarter of the distinct rows, and later places draw from other quarters:
/// a kernel that leaves rows out, or takes others for them, learns the distinct rows with other weights.
[[nodiscard]] Workload timing_workload(const Problem& problem, int order, std::uint64_t seed);
/// Rows of timing_workload() that differ: so many that what rounding does to them averages out, and no system fits
/// them.
[[nodiscard]] std::int64_t distinct_rows(const Problem& problem, int order);
/// The same workload, kept until other arguments come. Thread-safe.
[[nodiscard]] std::shared_ptr<const Workload> shared_timing_workload(const Problem& problem, int order,
                                                                     std::uint64_t seed);

/// Options that choose a path through the kernels.
struct OptionSet {
  bool plain_step = false;  ///< not of one length
  bool holds_rows_back = false;
  bool far_rows = false;  ///< so far from every rule that each activation underflows if it is not normalised before it
                          ///< is exponentiated
  bool halts = false;     ///< after the first iteration, whose error is small enough

  [[nodiscard]] std::string text() const;  ///< "steps of one length, rows held back, far rows"
  bool operator==(const OptionSet&) const = default;
};
/// Every combination of those that do not halt.
[[nodiscard]] const std::array<OptionSet, 8>& option_sets();

/// Iterations of a verification.
inline constexpr int kVerifiedIterations = 3;

/// Rows that verification_workload() has.
[[nodiscard]] std::int64_t verified_rows(const Problem& problem, int order);
/// Some iterations on a few thousand rows where the problem has more. Float32 determines what comes out of them: where
/// a system could fit its rows (fewer than two for an unknown), what is left of the targets would be rounding, and the
/// direction of the gradient with it. Such a system gets a ridge, large enough for its gradient to be determined; and
/// its plain step is verified without a ridge too where float32 determines that, since a gradient that must be next to
/// nothing can be compared with what it would be if nothing of the targets were explained. One rule, whose activation
/// is 1 everywhere, has no gradient: it makes plain steps. Same arguments, same bytes.
[[nodiscard]] Workload verification_workload(const Problem& problem, int order, const OptionSet& set,
                                             std::uint64_t seed);

}  // namespace heddle::tsk
