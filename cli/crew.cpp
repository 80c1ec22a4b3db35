#include "heddle/cli/crew.hpp"

#include <algorithm>
#include <utility>

namespace heddle::cli {

Crew::Crew(std::size_t members) : members_(members) {
  for (std::size_t i = 0; i < members; ++i) members_[i].thread = std::thread([this, i] { serve(i); });
}

Crew::~Crew() {
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  for (Member& member : members_) member.thread.join();
}

std::vector<std::exception_ptr> Crew::each(const std::function<void(std::size_t)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  for (Member& member : members_) member.busy = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return std::ranges::none_of(members_, &Member::busy); });
  std::vector<std::exception_ptr> failures;
  failures.reserve(members_.size());
  for (Member& member : members_) failures.push_back(std::exchange(member.failure, nullptr));
  return failures;
}

void Crew::serve(std::size_t number) {
  std::unique_lock lock(mutex_);
  Member& own = members_[number];
  while (true) {
    changed_.wait(lock, [&] { return over_ || own.busy; });
    if (over_) return;
    const auto& work = *work_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      work(number);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    own.failure = std::move(failure);
    own.busy = false;
    changed_.notify_all();
  }
}

}  // namespace heddle::cli
