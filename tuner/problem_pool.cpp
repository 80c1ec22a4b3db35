#include "heddle/tuner/problem_pool.hpp"

#include <chrono>

namespace heddle {

bool ProblemPool::take(const Problem& problem, std::size_t run) {
  const std::scoped_lock lock(mutex_);
  return owners_.emplace(problem, run).first->second == run;
}

std::vector<Problem> ProblemPool::taken_by_others(std::size_t run) const {
  const std::scoped_lock lock(mutex_);
  std::vector<Problem> taken;
  for (const auto& [problem, owner] : owners_) {
    if (owner != run) taken.push_back(problem);
  }
  return taken;
}

bool ProblemPool::has_another(const Problem& problem, std::size_t run) const {
  const std::scoped_lock lock(mutex_);
  const auto found = owners_.find(problem);
  return found != owners_.end() && found->second != run;
}

void ProblemPool::leave(std::size_t run, const std::set<Problem>& finished) {
  const std::scoped_lock lock(mutex_);
  --runs_;
  idle_.erase(run);
  const auto unfinished = [&](const auto& entry) { return entry.second == run && !finished.contains(entry.first); };
  if (std::erase_if(owners_, unfinished) > 0) ++left_behind_;
  changed_.notify_all();
}

bool ProblemPool::wait_for_more(std::size_t run, const Stop& stop) {
  constexpr std::chrono::milliseconds kToAsk{20};  // between two questions whether to stop
  std::unique_lock lock(mutex_);
  idle_.insert(run);
  changed_.notify_all();
  while (told_of_[run] == left_behind_) {
    if (idle_.size() >= runs_ || stop()) return false;
    changed_.wait_for(lock, kToAsk);
  }
  told_of_[run] = left_behind_;
  idle_.erase(run);
  return true;
}

std::size_t ProblemPool::runs() const {
  const std::scoped_lock lock(mutex_);
  return runs_;
}

}  // namespace heddle
