// The threads of a launch, and the warps, blocks and clusters that they are in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/runtime/device/emulator/fibre.hpp"
#include "heddle/runtime/device/emulator/kernel/interface.hpp"
#include "heddle/runtime/device/emulator/knowledge.hpp"

namespace heddle::emulator {

constexpr unsigned kWarpSize = 32;

/// Whether both are the same place in the source; the address does not matter.
[[nodiscard]] bool same(const Line& a, const Line& b);
/// "train.cuh:80"
[[nodiscard]] std::string text(const Line& line);

/// Shared memory that a thread took in one piece. Words.
struct Piece {
  int offset = 0, count = 0;
  std::byte* address = nullptr;
};

struct Block;
struct Cluster;

/// The event that a thread is waiting for.
enum class Wait { nothing, barrier, warp, cluster, mailbox, packet };

/// One GPU thread.
struct Thread {
  Block* block = nullptr;
  Place place{};
  unsigned index = 0;       ///< in its block
  ThreadNumber number = 0;  ///< in its launch
  std::unique_ptr<Fibre> fibre;

  Wait wait = Wait::nothing;
  Line line{};                    ///< of what it waits at
  unsigned long long result = 0;  ///< of what it did together with others

  Segment segment = 0;         ///< current; 0: none yet
  Segment ordered_before = 0;  ///< all segments below happened before
  std::uint32_t read_sets_before = 0;
  bool synced = false;                                   ///< with lanes of its warp, since the last barrier
  std::array<Segment, kWarpSize> lanes{}, lane_reads{};  ///< if so, up to when it knows them, and what they read
  Known foreign;                                         ///< of other blocks, and what its own block has not met about

  /// Its half of a barrier of the cluster.
  struct Arrival {
    unsigned phase;    ///< of the cluster
    HandsOn hands_on;  ///< to those who wait
    Segment next = 0;  ///< its first segment that began later; 0: none yet
  };
  std::optional<Arrival> arrival;  ///< that it has not waited for

  struct Copy {
    std::byte* to;
    const std::byte* from;
    unsigned bytes;
    std::uint64_t group;
  };
  std::vector<Copy> copies;  ///< started, not arrived; the oldest first
  std::uint64_t group = 0;   ///< of copies that are started now
  struct Poll {
    const void* packet;
    std::uint64_t changes;  ///< of the packet, when it was looked at
  };
  std::vector<Poll> polls;  ///< packets that the thread looks at in turns, the last one last
};

/// An operation that some lanes of a warp have reached, and others have not.
struct WarpMeeting {
  WarpOperation operation{};
  unsigned mask = 0, arrived = 0;
  Line line{};
  std::array<unsigned long long, kWarpSize> value{};
  std::array<int, kWarpSize> argument{};
  int width = 0;
};

struct Warp {
  std::vector<WarpMeeting> meetings;
  unsigned exited = 0;
};

/// An mbarrier in a block's shared memory.
struct Mailbox {
  int completed = 0;         ///< rounds
  bool expecting = false;    ///< expect() was called this round
  std::int64_t missing = 0;  ///< bytes expected less bytes arrived
  Known arriving, brought;   ///< this round, and in the rounds before
};

/// A barrier of some warps of a block.
struct PartialBarrier {
  int threads = 0;  ///< that it is of
  std::vector<Thread*> arrived;
  Line line{};
};

struct Block {
  std::uint32_t number = 0;  ///< in the launch
  int rank = 0;              ///< in the cluster
  Cluster* cluster = nullptr;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  unsigned exited = 0;

  unsigned arrived = 0;  ///< at the barrier
  Line line{};
  Vote vote{};
  unsigned votes = 0;
  std::map<int, PartialBarrier> partial_barriers;  ///< by number
  Segment met = 0;  ///< when the last barrier was complete: its threads know each other up to then

  std::byte* shared = nullptr;
  std::vector<Piece> pieces;
  std::map<std::ptrdiff_t, Mailbox> mailboxes;  ///< by offset in shared memory
};

struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;
  unsigned exited = 0;

  // Its barrier. A thread that has waited may arrive for the next phase while others still have to wait for this one.
  unsigned phase = 0;         ///< complete barriers
  unsigned arrived = 0;       ///< threads, in this phase
  Line line{};                ///< of the first of them
  std::optional<Line> whole;  ///< where threads came that arrive and wait at once
  Known arriving, met;        ///< what was known at the arrivals of this phase, and at those of the phase before
};

}  // namespace heddle::emulator
