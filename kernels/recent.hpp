// A cache of the values that were used last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace heddle {

/// Values by name, those used last, until they take too much memory together.
template <class Value>
class Recent {
 public:
  explicit Recent(std::size_t bytes) : limit_(bytes) {}

  /// The value called `name`; `make` makes it, and `bytes` says what it takes.
  template <class Make>
  std::shared_ptr<Value> get(const std::string& name, std::size_t bytes, Make make) {
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i].name != name) continue;
      std::rotate(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(i),
                  kept_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return kept_.front().value;
    }
    kept_.push_front({name, bytes, std::make_shared<Value>(make())});
    used_ += bytes;
    while (kept_.size() > 1 && used_ > limit_) {
      used_ -= kept_.back().bytes;
      kept_.pop_back();
    }
    return kept_.front().value;
  }

 private:
  struct Kept {
    std::string name;
    std::size_t bytes = 0;
    std::shared_ptr<Value> value;
  };
  std::size_t limit_, used_ = 0;
  std::deque<Kept> kept_;  ///< used last: first
};

}  // namespace heddle
