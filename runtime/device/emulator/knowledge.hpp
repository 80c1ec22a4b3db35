// The happens-before relation of a launch: which accesses of other threads each thread can rely on.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace heddle::emulator {

/// The part of a thread's work between two synchronisations. Segments are numbered in the order in which they begin,
/// over all launches, so a number is also a time: to know a thread up to time n is to know its segments up to n.
using Segment = std::uint32_t;

/// A thread of a launch: block * threads of a block + thread; with kMessage set, what a message of that thread brings.
using ThreadNumber = std::uint32_t;
constexpr ThreadNumber kMessage = 0x80000000U;

/// For each known thread or block the time up to which it is known, in order of their numbers. Joined often, and small.
using Times = std::vector<std::pair<std::uint32_t, Segment>>;

/// The accesses of other blocks and threads that happened before. Immutable once it is shared.
struct Knowledge {
  Times blocks;  ///< everything that a block's threads did up to a time
  Times threads;

  void learn_block(std::uint32_t block, Segment time);
  void learn_thread(ThreadNumber thread, Segment time);
  void learn(const Knowledge& other);
  /// Forgets the threads that are known no further than their blocks.
  void forget_known(std::uint32_t block_threads);

  [[nodiscard]] bool knows_block(std::uint32_t block, Segment time) const;
  [[nodiscard]] bool knows_thread(ThreadNumber thread, Segment time) const;
};

using SharedKnowledge = std::shared_ptr<const Knowledge>;

/// Both together; may be one of the two.
[[nodiscard]] SharedKnowledge joined(const SharedKnowledge& a, const SharedKnowledge& b);

/// A thread's knowledge of other threads. A value that came without an order of memory (a packet, a shuffle) still
/// proves that its sender has read the inputs of the value. The reads of other threads may therefore be known up to a
/// later time than their writes.
struct Known {
  SharedKnowledge all;
  SharedKnowledge reads;  ///< beyond `all`
};
[[nodiscard]] Known joined(const Known& a, const Known& b);

/// The reads of one word since it was written, when there are several: by warp.
class ReadSet {
 public:
  struct Readers {
    ThreadNumber first;   ///< lane of the warp
    std::uint32_t lanes;  ///< that have read it
    Segment last;         ///< read by any of them
  };

  /// `first`: lane 0 of the thread's warp.
  void add(ThreadNumber first, unsigned lane, Segment segment);
  [[nodiscard]] const std::vector<Readers>& readers() const noexcept { return readers_; }

 private:
  std::vector<Readers> readers_;  ///< in order
};

}  // namespace heddle::emulator
