// Ctrl-C and callbacks while C++ works without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>

namespace heddle::python {

/// Asks Python now and then whether a signal came, or whether a callback failed.
class Interruption {
 public:
  /// Whether the work is to stop. Called often, so that the GIL is taken a few times a second only.
  bool asked() {
    constexpr auto kPause = std::chrono::milliseconds(50);
    if (raised_) return true;
    const auto now = Clock::now();
    if (now < next_) return false;
    next_ = now + kPause;
    const nanobind::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) catch_pending();
    return raised_.has_value();
  }
  /// Runs a callback; what it raises ends the work.
  template <class Call>
  void run(const Call& call) {
    if (raised_) return;
    const nanobind::gil_scoped_acquire held;
    try {
      call();
    } catch (nanobind::python_error& error) {
      error.restore();
      catch_pending();
    }
  }
  /// What Python raised, or None. With the GIL.
  [[nodiscard]] nanobind::object raised() const { return raised_ ? *raised_ : nanobind::none(); }

 private:
  using Clock = std::chrono::steady_clock;

  void catch_pending() {
    const nanobind::python_error error;
    raised_ = nanobind::borrow(error.value());
  }

  Clock::time_point next_;
  std::optional<nanobind::object> raised_;
};

}  // namespace heddle::python
