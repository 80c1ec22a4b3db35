// Which thread of a launch runs next.
#pragma once

#include <cstddef>
#include <vector>

#include "heddle/runtime/device/emulator/order.hpp"
#include "heddle/runtime/device/emulator/threads.hpp"

namespace heddle::emulator {

/// How often a thread looks in vain, while nobody makes progress, before that counts as a deadlock. A thread that polls
/// one packet again has not always polled all packets that it waits for: it may poll one packet in place of several
/// missing ones, is then woken once for each of these looks, and finds what has arrived only the next time round.
constexpr std::size_t kMostLooks = 256;

/// The threads that can go on, and those that poll a packet until it changes. One runs at a time. On a GPU a warp, or a
/// block, may come to an instruction long after the others: so in a drawn order one after the other is late, which goes
/// on when nobody else can. Drawing threads one by one would hardly ever let all others overtake one (Burckhardt et
/// al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", 2010).
class Schedule {
 public:
  /// `order` must outlive this.
  explicit Schedule(Order& order) : order_(order) {}

  /// The thread that runs now; nullptr between two threads.
  [[nodiscard]] Thread* current() const noexcept { return current_; }

  void ready(Thread& thread);
  [[nodiscard]] bool any_ready() const noexcept { return ready_begin_ < ready_.size(); }
  struct Turn {
    Thread* thread;
    bool ended;
  };
  /// Runs a thread that is ready until it suspends itself or ends. There must be one.
  [[nodiscard]] Turn run_next();

  // Of the current thread, on its fibre.
  /// Waits until another thread makes it ready().
  void suspend(Wait wait, const Line& line);
  /// Lets others go first.
  void yield();
  /// Waits until wake_pollers().
  void poll(const Line& line);

  /// Makes the threads ready that poll `packet`.
  void wake_pollers(const void* packet);
  /// Makes all of them ready, which nothing has changed for. False if there are none, or if that was done so often
  /// without progress() that they count as a deadlock.
  [[nodiscard]] bool wake_pollers_in_vain();

  /// Lets those who are late go on. False if none of them waited for that.
  bool catch_up();

  /// A thread looked at a packet.
  void looked() noexcept { ++idle_looks_; }
  /// Something changed that threads may wait for.
  void progress() noexcept { fruitless_ = idle_looks_ = 0; }
  /// Looks at packets since the last progress().
  [[nodiscard]] std::size_t idle_looks() const noexcept { return idle_looks_; }

 private:
  static constexpr int kAllWarps = -1;

  [[nodiscard]] Thread& next();
  [[nodiscard]] bool is_late(const Thread& thread) const noexcept;
  void be_late(const Thread& one, bool whole_block);

  Order& order_;
  Thread* current_ = nullptr;
  std::vector<Thread*> ready_;
  std::size_t ready_begin_ = 0;
  std::vector<Thread*> pollers_;
  const Block* late_block_ = nullptr;  ///< nullptr: nobody is late
  int late_warp_ = kAllWarps;          ///< of that block
  std::vector<Thread*> late_;          ///< threads that could go on if they were not late
  std::size_t fruitless_ = 0;          ///< times all pollers were woken since anything changed
  std::size_t idle_looks_ = 0;
};

}  // namespace heddle::emulator
