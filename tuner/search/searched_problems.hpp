// The problems of a run with their spaces, which are listed ahead while the device is at work.
#pragma once

#include <condition_variable>
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
  /// `coming`: about in the order in which they are asked for. Nothing is listed ahead where the device shares the
  /// host's processor.
  SearchedProblems(const Evaluator& evaluator, const StopCondition& stop, std::vector<Problem> coming);
  ~SearchedProblems();
  SearchedProblems(const SearchedProblems&) = delete;
  SearchedProblems& operator=(const SearchedProblems&) = delete;

  /// From the run's thread. The reference lives as long as this.
  const SearchedProblem& at(const Problem& problem);

 private:
  void list_ahead(const std::vector<Problem>& coming, double list_seconds);

  const Evaluator& evaluator_;
  const StopCondition& stop_;
  std::mutex changing_;
  std::condition_variable changed_;
  std::map<Problem, std::unique_ptr<SearchedProblem>> problems_;  ///< null: one of the threads is about to make it
  bool ends_ = false;
  std::thread ahead_;
};

}  // namespace heddle
