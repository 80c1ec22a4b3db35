#include "heddle/tuner/search/searched_problems.hpp"

#include <algorithm>
#include <utility>

namespace heddle {

namespace {

/// A search has to have time left after the list, and a list that is small takes no second.
double list_seconds(const StopCondition& stop) {
  constexpr double kMost = 10.0, kLeast = 1.0, kShare = 0.1;
  return std::clamp(kShare * stop.seconds_left().value_or(kMost / kShare), kLeast, kMost);
}

}  // namespace

SearchedProblems::SearchedProblems(const Evaluator& evaluator, const StopCondition& stop, std::vector<Problem> coming)
    : evaluator_(evaluator), stop_(stop) {
  if (evaluator.shares_processor() || coming.size() < 2) return;
  ahead_ = std::thread(
      [this, seconds = list_seconds(stop), problems = std::move(coming)] { list_ahead(problems, seconds); });
}

SearchedProblems::~SearchedProblems() {
  {
    const std::scoped_lock lock(changing_);
    ends_ = true;
  }
  if (ahead_.joinable()) ahead_.join();
}

/// What fails here is left to at(), which fails where somebody hears of it.
void SearchedProblems::list_ahead(const std::vector<Problem>& coming, double list_seconds) {
  const auto ends = [this] {
    const std::scoped_lock lock(changing_);
    return ends_;
  };
  for (const Problem& problem : coming) {
    {
      const std::scoped_lock lock(changing_);
      if (ends_) return;
      if (!problems_.try_emplace(problem).second) continue;
    }
    std::unique_ptr<SearchedProblem> made;
    try {
      made = std::make_unique<SearchedProblem>(evaluator_, problem, list_seconds, ends);
    } catch (const std::exception&) {
      made.reset();
    }
    const std::scoped_lock lock(changing_);
    if (made) {
      problems_.at(problem) = std::move(made);
    } else {
      problems_.erase(problem);
    }
    changed_.notify_all();
  }
}

const SearchedProblem& SearchedProblems::at(const Problem& problem) {
  std::unique_lock lock(changing_);
  while (true) {
    const auto [entry, is_new] = problems_.try_emplace(problem);
    if (is_new) break;
    if (entry->second) return *entry->second;
    changed_.wait(lock);
  }
  lock.unlock();
  const auto over = [this] { return stop_.interrupted() || stop_.seconds_left().value_or(1.0) <= 0.0; };
  std::unique_ptr<SearchedProblem> made;
  try {
    made = std::make_unique<SearchedProblem>(evaluator_, problem, list_seconds(stop_), over);
  } catch (...) {
    lock.lock();
    problems_.erase(problem);
    throw;
  }
  lock.lock();
  return *(problems_.at(problem) = std::move(made));
}

}  // namespace heddle
