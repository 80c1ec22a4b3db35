// Work that several devices do side by side, each in a thread of its own.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace heddle::cli {

/// Threads that stay the same ones for as long as this lives: a worker process ends with the thread that started it.
class Crew {
 public:
  explicit Crew(std::size_t members);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Calls `work(member)` for every member at once, each in the member's thread, and waits for all. Returns what each
  /// has thrown; empty pointers for those that have not.
  std::vector<std::exception_ptr> each(const std::function<void(std::size_t)>& work);

 private:
  struct Member {
    std::thread thread;
    bool busy = false;
    std::exception_ptr failure;
  };
  void serve(std::size_t number);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  bool over_ = false;
  std::vector<Member> members_;
};

}  // namespace heddle::cli
