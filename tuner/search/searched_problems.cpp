#include "heddle/tuner/search/searched_problems.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace heddle {

namespace {

/// A search has to have time left after the list, and a list that is small takes no second.
double list_seconds(const StopCondition& stop) {
  constexpr double kMost = 10.0, kLeast = 1.0, kShare = 0.1;
  return std::clamp(kShare * stop.seconds_left().value_or(kMost / kShare), kLeast, kMost);
}

}  // namespace

SearchedProblems::SearchedProblems(const Evaluator& evaluator, const StopCondition& stop, std::vector<Problem> coming,
                                   IsTaken is_taken, const CostModel* model)
    : evaluator_(evaluator), stop_(stop), model_(model) {
  if (evaluator.shares_processor() || coming.size() < 2) return;
  try {
    ahead_ = std::thread([this, seconds = list_seconds(stop), problems = std::move(coming),
                          is_taken = std::move(is_taken)] { list_ahead(problems, is_taken, seconds); });
  } catch (const std::system_error&) {  // no thread to be had: at() does it all
  }
}

SearchedProblems::~SearchedProblems() {
  hurries_ = true;
  if (ahead_.joinable()) ahead_.join();
}

/// What fails here is left to at(), which fails where somebody hears of it.
void SearchedProblems::list_ahead(const std::vector<Problem>& coming, const IsTaken& is_taken, double seconds) {
  for (const Problem& problem : coming) {
    if (hurries_) return;
    if (is_taken && is_taken(problem)) continue;
    {
      const std::scoped_lock lock(changing_);
      if (!problems_.try_emplace(problem).second) continue;
    }
    std::unique_ptr<SearchedProblem> one;
    try {
      one = made(problem, seconds);
    } catch (...) {
      one.reset();
    }
    const std::scoped_lock lock(changing_);
    if (one) {
      problems_.at(problem) = std::move(one);
    } else {
      problems_.erase(problem);
    }
    changed_.notify_all();
  }
}

/// Lists from the thread ahead end when the run hurries; those of the run, which no other search waits for, at an
/// interruption. Draws from a space that is not listed are the run's, whoever made it.
std::unique_ptr<SearchedProblem> SearchedProblems::made(const Problem& problem, double seconds) const {
  const bool is_run = std::this_thread::get_id() == run_;
  const Stop late = stop_after(seconds);
  const Stop gives_up = [this, is_run, late] { return late() || (is_run ? stop_.interrupted() : hurries_.load()); };
  const Stop over = [this] { return std::this_thread::get_id() == run_ ? is_over() : hurries_.load(); };
  return std::make_unique<SearchedProblem>(evaluator_, problem, gives_up, over, model_);
}

bool SearchedProblems::is_over() const { return stop_.interrupted() || stop_.seconds_left().value_or(1.0) <= 0.0; }

const SearchedProblem& SearchedProblems::at(const Problem& problem) {
  constexpr std::chrono::milliseconds kLook{20};
  std::unique_lock lock(changing_);
  while (true) {
    const auto [entry, is_new] = problems_.try_emplace(problem);
    if (is_new) break;
    if (entry->second) return *entry->second;
    if (is_over()) hurries_ = true;
    changed_.wait_for(lock, kLook);
  }
  lock.unlock();
  std::unique_ptr<SearchedProblem> one;
  try {
    one = made(problem, list_seconds(stop_));
  } catch (...) {
    lock.lock();
    problems_.erase(problem);
    throw;
  }
  lock.lock();
  return *(problems_.at(problem) = std::move(one));
}

}  // namespace heddle
