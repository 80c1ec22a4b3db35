// What verification has found out in one visit, and the pruning reference that follows from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "heddle/tuner/search/search_context.hpp"
#include "heddle/tuner/strategy.hpp"

namespace heddle {

/// The context must outlive it.
class Verdicts {
 public:
  explicit Verdicts(const SearchContext& context) : context_(context) {}

  /// The lowest verified cost, against which slower configurations are pruned; nothing at first. While verification
  /// waits, the first cost that was measured.
  [[nodiscard]] const std::optional<double>& reference() const noexcept { return reference_; }
  /// From now on nothing is verified, until stop_waiting().
  void wait() { waits_ = true; }
  [[nodiscard]] bool waits() const noexcept { return waits_; }
  /// The reference of the meantime is gone, since nothing has verified it.
  void stop_waiting() {
    waits_ = false;
    reference_.reset();
  }
  /// Whether a configuration with this outcome is worth a verification: it is so much faster than the reference.
  [[nodiscard]] bool may_become_reference(const Observation& outcome) const;
  /// Verifies a configuration before others are pruned against it, because a kernel that computes too little is often
  /// the fastest. If it is correct, its cost becomes the reference. One run on each shape finds most faults; a winner
  /// has to pass all runs.
  [[nodiscard]] Verdict verify_as_reference(std::size_t configuration, double cost);
  /// Makes the cost of a configuration the reference that this run has verified before, or is going to verify.
  void set_reference(double cost) { reference_ = cost; }

  /// Seconds of the longest verification of one run so far.
  [[nodiscard]] double longest_seconds() const noexcept { return longest_seconds_; }

  /// All that a winner has to pass, on timed runs of `samples` samples. A configuration is verified once.
  const Verdict& verify(std::size_t configuration, std::int64_t samples);
  /// Takes the verdict from an earlier process of this run.
  void remember(std::size_t configuration, Verdict verdict);

 private:
  const SearchContext& context_;
  std::optional<double> reference_;
  bool waits_ = false;
  double longest_seconds_ = 0.0;
  std::map<std::size_t, Verdict> verdicts_;
};

}  // namespace heddle
