// Lets a limited number of threads in at a time, in the order in which they came.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace heddle {

/// Thread-safe.
class Turnstile {
 public:
  explicit Turnstile(unsigned most) : most_(most) {}

  /// Inside as long as it lives; its constructor waits to be let in.
  class Pass {
   public:
    explicit Pass(Turnstile& turnstile) : turnstile_(turnstile) { turnstile_.enter(); }
    ~Pass() { turnstile_.leave(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    Turnstile& turnstile_;
  };

 private:
  void enter() {
    std::unique_lock lock(mutex_);
    const std::uint64_t mine = came_++;
    moved_.wait(lock, [&] { return mine < left_ + most_; });
  }
  void leave() {
    {
      const std::lock_guard lock(mutex_);
      ++left_;
    }
    moved_.notify_all();
  }

  const unsigned most_;
  std::mutex mutex_;
  std::condition_variable moved_;
  std::uint64_t came_ = 0, left_ = 0;
};

}  // namespace heddle
