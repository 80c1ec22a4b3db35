// Decisions by problem: read without a lock, written under one.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "heddle/kernels/problem.hpp"
#include "heddle/runtime/dispatch/candidate.hpp"

namespace heddle {

/// An open-addressing hash table that only grows. find() and insert() may be called from several threads at once.
class DecisionTable {
 public:
  DecisionTable();
  ~DecisionTable();
  DecisionTable(const DecisionTable&) = delete;
  DecisionTable& operator=(const DecisionTable&) = delete;

  /// Takes no lock; nullptr if the problem was never inserted.
  [[nodiscard]] const Candidate* find(const Problem& problem) const noexcept;
  /// The first decision inserted for a problem stays; it is what every caller gets, at the same address for good.
  const Candidate& insert(const Problem& problem, Candidate candidate);

 private:
  struct Decision {
    Problem problem;
    Candidate candidate;
  };
  struct Slots;

  std::atomic<const Slots*> slots_;
  std::mutex writing_;
  // Slots that were outgrown stay, since a reader may still be in them; together they are smaller than the last.
  std::vector<std::unique_ptr<Slots>> generations_;
  std::vector<std::unique_ptr<const Decision>> decisions_;
};

}  // namespace heddle
