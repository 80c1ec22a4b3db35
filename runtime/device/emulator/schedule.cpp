#include "heddle/runtime/device/emulator/schedule.hpp"

#include <algorithm>
#include <utility>

namespace heddle::emulator {
namespace {

/// After how many turns on average somebody is late; one time in kWarpsToABlock that is a whole block.
constexpr std::size_t kTurnsBetween = 64, kWarpsToABlock = 4;

}  // namespace

void Schedule::ready(Thread& thread) {
  thread.wait = Wait::nothing;
  (is_late(thread) ? late_ : ready_).push_back(&thread);
}

bool Schedule::is_late(const Thread& thread) const noexcept {
  return thread.block == late_block_ &&
         (late_warp_ == kAllWarps || static_cast<int>(thread.index / kWarpSize) == late_warp_);
}

void Schedule::be_late(const Thread& one, bool whole_block) {
  late_block_ = one.block;
  late_warp_ = whole_block ? kAllWarps : static_cast<int>(one.index / kWarpSize);
  const auto first = ready_.begin() + static_cast<std::ptrdiff_t>(ready_begin_);
  const auto others =
      std::stable_partition(first, ready_.end(), [this](const Thread* each) { return !is_late(*each); });
  late_.assign(others, ready_.end());
  ready_.erase(others, ready_.end());
}

bool Schedule::catch_up() {
  if (late_block_ == nullptr) return false;
  late_block_ = nullptr;
  ready_.insert(ready_.end(), late_.begin(), late_.end());
  return !std::exchange(late_, {}).empty();
}

Thread& Schedule::next() {
  if (late_block_ == nullptr && order_.draw(kTurnsBetween) == kTurnsBetween - 1) {
    const Thread& one = *ready_[ready_begin_ + order_.draw(ready_.size() - ready_begin_)];
    be_late(one, order_.draw(kWarpsToABlock) == 0);
    if (!any_ready()) catch_up();
  }
  const std::size_t waiting = ready_.size() - ready_begin_;
  std::swap(ready_[ready_begin_], ready_[ready_begin_ + order_.draw(waiting)]);
  Thread& thread = *ready_[ready_begin_++];
  if (ready_begin_ > 1024 && ready_begin_ > waiting) {
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(ready_begin_));
    ready_begin_ = 0;
  }
  return thread;
}

Schedule::Turn Schedule::run_next() {
  current_ = &next();
  const bool ended = current_->fibre->resume();
  return {std::exchange(current_, nullptr), ended};
}

void Schedule::suspend(Wait wait, const Line& line) {
  current_->wait = wait;
  current_->line = line;
  current_->fibre->suspend();
}

void Schedule::yield() {
  ready(*current_);
  current_->fibre->suspend();
}

void Schedule::poll(const Line& line) {
  pollers_.push_back(current_);
  suspend(Wait::packet, line);
}

void Schedule::wake_pollers(const void* packet) {
  std::erase_if(pollers_, [&](Thread* poller) {
    const auto polls = [&](const Thread::Poll& poll) { return poll.packet == packet; };
    if (std::ranges::none_of(poller->polls, polls)) return false;
    ready(*poller);
    return true;
  });
}

bool Schedule::wake_pollers_in_vain() {
  if (pollers_.empty() || ++fruitless_ > kMostLooks) return false;
  for (Thread* poller : std::exchange(pollers_, {})) ready(*poller);
  return true;
}

}  // namespace heddle::emulator
