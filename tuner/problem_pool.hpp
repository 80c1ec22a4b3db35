// Problems that several tuning runs share out among themselves: one run for each card of a model.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/stop.hpp"

namespace heddle {

/// Every run takes the problem that it finds most valuable next, and no run gets one that another has taken. Safe to
/// use from the threads of all runs.
class ProblemPool {
 public:
  explicit ProblemPool(std::size_t runs) : runs_(runs) {}

  /// Whether `run` (from 0) has the problem now. False if another run took it before.
  bool take(const Problem& problem, std::size_t run);
  /// The problems that other runs have taken.
  [[nodiscard]] std::vector<Problem> taken_by_others(std::size_t run) const;
  [[nodiscard]] bool has_another(const Problem& problem, std::size_t run) const;
  /// `run` has failed. Whatever it took and did not finish is free again, so that the other runs may take it.
  void leave(std::size_t run, const std::set<Problem>& finished);
  /// `run` has nothing to do. Returns true as soon as another one has left something behind since `run` was last told,
  /// and false once no other run is at work, or `stop` says so: until then one may still fail.
  [[nodiscard]] bool wait_for_more(std::size_t run, const Stop& stop);
  /// Runs that have not left.
  [[nodiscard]] std::size_t runs() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t runs_;
  std::set<std::size_t> idle_;          ///< runs that have nothing to do
  int left_behind_ = 0;                 ///< how often a run has left something
  std::map<std::size_t, int> told_of_;  ///< by run: the last of these
  std::map<Problem, std::size_t> owners_;
};

/// What one run sees of the pool. Without a pool it has all problems to itself.
struct PoolShare {
  ProblemPool* pool = nullptr;  ///< outlives the run
  std::size_t run = 0;

  [[nodiscard]] bool take(const Problem& problem) const { return pool == nullptr || pool->take(problem, run); }
  [[nodiscard]] bool has_another(const Problem& problem) const {
    return pool != nullptr && pool->has_another(problem, run);
  }
  [[nodiscard]] std::vector<Problem> taken_by_others() const {
    return pool != nullptr ? pool->taken_by_others(run) : std::vector<Problem>();
  }
  [[nodiscard]] std::size_t runs() const { return pool != nullptr ? pool->runs() : 1; }
  [[nodiscard]] bool wait_for_more(const Stop& stop) const { return pool != nullptr && pool->wait_for_more(run, stop); }
};

}  // namespace heddle
