// Waits that end when the caller is asked to stop.
#pragma once

#include <chrono>
#include <exception>
#include <functional>

namespace heddle {

/// Returns true when a wait is to end. The waiting thread calls it many times a second. Empty: the wait is never ended.
using Stop = std::function<bool()>;

/// A Stop that returns true from `seconds` after this call on.
[[nodiscard]] inline Stop stop_after(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  return [end] { return std::chrono::steady_clock::now() >= end; };
}

/// Thrown when the Stop of a wait returns true. It is no error: the caller keeps what was done before the wait.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

}  // namespace heddle
