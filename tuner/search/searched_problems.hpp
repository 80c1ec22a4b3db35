// The problems of a run with their spaces, which are listed ahead while the device is at work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "heddle/tuner/search/searched_problem.hpp"
#include "heddle/tuner/stop_condition.hpp"

namespace heddle {

/// To list the space of a problem takes some hundredths of a second, in which a device waits that could measure. A
/// thread of its own therefore goes through the problems that are to come. The arguments must outlive this.
class SearchedProblems {
 public:
  /// Whether nobody will ask for a problem; called from the thread that lists ahead.
  using IsTaken = std::function<bool(const Problem&)>;

  /// `coming`: about in the order in which they are asked for. Nothing is listed ahead where the device shares the
  /// host's processor. `model`: by which the device would choose; null if there is none.
  SearchedProblems(const Evaluator& evaluator, const StopCondition& stop, std::vector<Problem> coming,
                   IsTaken is_taken = {}, const CostModel* model = nullptr);
  ~SearchedProblems();
  SearchedProblems(const SearchedProblems&) = delete;
  SearchedProblems& operator=(const SearchedProblems&) = delete;

  /// From the run's thread. The reference lives as long as this.
  const SearchedProblem& at(const Problem& problem);

 private:
  void list_ahead(const std::vector<Problem>& coming, const IsTaken& is_taken, double seconds);
  [[nodiscard]] std::unique_ptr<SearchedProblem> made(const Problem& problem, double seconds) const;
  [[nodiscard]] bool is_over() const;

  const Evaluator& evaluator_;
  const StopCondition& stop_;  ///< for the run's thread alone
  const CostModel* const model_;
  const std::thread::id run_ = std::this_thread::get_id();
  std::atomic<bool> hurries_ = false;  ///< the run waits for a list and has no more time for it, or ends
  std::mutex changing_;
  std::condition_variable changed_;
  std::map<Problem, std::unique_ptr<SearchedProblem>> problems_;  ///< null: one of the threads is about to make it
  std::thread ahead_;
};

}  // namespace heddle
