#include "heddle/tuner/problem_pool.hpp"

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
  std::erase_if(owners_, [&](const auto& entry) { return entry.second == run && !finished.contains(entry.first); });
}

std::size_t ProblemPool::runs() const {
  const std::scoped_lock lock(mutex_);
  return runs_;
}

}  // namespace heddle
