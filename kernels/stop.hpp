// Waits that end because somebody asked to stop.
#pragma once

#include <exception>
#include <functional>

namespace heddle {

/// Whether somebody wants a wait to end. Asked many times a second, by the thread that waits; empty: nobody does.
using Stop = std::function<bool()>;

/// Ends a wait whose Stop said so. No error: whoever began the wait keeps what was done before it.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

}  // namespace heddle
