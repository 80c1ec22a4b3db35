// Seeded rows and systems like those of a training run, and the comparison with the float64 reference.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/tsk/system.hpp"

namespace heddle::tsk {

struct Workload {
  System system;  ///< before the run
  Control control{};
  Progress progress{};
  std::vector<float> rows;     ///< N x D, the rows held back last
  std::vector<float> targets;  ///< N x L
};

/// `rules` rules that overlap as an even grid of sets does, rows among them, targets that no such system fits. All N
/// rows of the problem for timing; for a verification a few thousand where N is more, some of them so far from every
/// rule that each activation underflows if it is not normalised before it is exponentiated, and a few iterations; and
/// where there are fewer than two rows for an unknown, mostly a ridge, since what is left of targets that a system fits
/// is rounding.
/// Same arguments, same bytes.
[[nodiscard]] Workload workload(const Problem& problem, int order, Purpose purpose, std::uint64_t seed);
/// The same, kept until other arguments come. Thread-safe.
[[nodiscard]] std::shared_ptr<const Workload> shared_workload(const Problem& problem, int order, Purpose purpose,
                                                              std::uint64_t seed);

/// What a run left.
struct Outcome {
  System system, best;
  Progress progress{};
  std::vector<double> errors;  ///< [iterations][2]
};
/// Against the reference: every error within 1 %, of rows held back too; the change of all centres and widths, the norm
/// of the difference at most 1 % of the norm of the change; the best system has the error that it was kept for. Where
/// float32 does not determine a number so well, which Rounding::coarse tells, more is allowed for that number alone.
[[nodiscard]] Accuracy compare(const Workload& workload, const Outcome& outcome);

}  // namespace heddle::tsk
