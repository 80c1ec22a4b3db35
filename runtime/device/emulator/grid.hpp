// One launch: blocks of threads, each thread a fibre, scheduled in an order that a seed decides and watched at every
// access to memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/plan.hpp"
#include "heddle/runtime/device/emulator/address_space.hpp"
#include "heddle/runtime/device/emulator/fibre.hpp"
#include "heddle/runtime/device/emulator/finding.hpp"
#include "heddle/runtime/device/emulator/kernel/interface.hpp"
#include "heddle/runtime/device/emulator/knowledge.hpp"

namespace heddle::emulator {

constexpr unsigned kWarpSize = 32;

/// Whether both are the same place in the source; the address does not matter.
[[nodiscard]] bool same(const Line& a, const Line& b);

/// Decides what comes next: seed 0 takes what has waited longest, any other draws.
class Order {
 public:
  explicit Order(std::uint64_t seed) : state_(seed) {}
  /// From 0 to count - 1; 0 if the seed is 0.
  [[nodiscard]] std::size_t draw(std::size_t count);

 private:
  std::uint64_t state_;
};

/// State that outlives a launch.
struct Machine {
  AddressSpace space;
  FibrePool fibres;
  Segment segments = 0;         ///< numbers given out so far
  std::uint32_t read_sets = 0;  ///< likewise
  /// The first segment of the launches that may still be running when the next one starts: of the last launch if that
  /// was an ordinary one. And the same for read sets.
  Segment chain = 1;
  std::uint32_t read_set_chain = 0;

  /// All launches have ended.
  void settle() noexcept {
    chain = segments + 1;
    read_set_chain = read_sets;
  }
};

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

  struct Copy {
    std::byte* to;
    const std::byte* from;
    unsigned bytes;
  };
  std::vector<Copy> copies;  ///< started, not arrived
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
  Segment met = 0;  ///< when the last barrier was complete: its threads know each other up to then

  std::byte* shared = nullptr;
  std::vector<Piece> pieces;
  std::map<std::ptrdiff_t, Mailbox> mailboxes;  ///< by offset in shared memory
};

struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;
  unsigned arrived = 0, exited = 0;
  Line line{};
};

/// A store to another block, on its way.
struct Delivery {
  std::byte* to = nullptr;
  Quad value{};
  ThreadNumber sender = 0;
  Block* block = nullptr;  ///< of a message to shared memory, counted by a mailbox; nullptr: a packet in global memory
  std::ptrdiff_t mailbox = 0;
  Segment segment = 0;
  Known known{};
  const void* at = nullptr;
};

/// One launch as the grid runs it.
struct GridLaunch {
  Kernel kernel = nullptr;
  void* const* arguments = nullptr;
  const Launch* shape = nullptr;
  /// For findings: the address in words, "word 12 of buffer 'records'".
  std::function<std::string(const void*)> describe;
  std::function<bool(const void*)> constant;  ///< whether an address is constant data of the code
};

class Grid {
 public:
  Grid(Machine& machine, const GridLaunch& launch, std::uint64_t seed);
  ~Grid();
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  /// Runs to the end, or to the first finding.
  [[nodiscard]] std::optional<Finding> run();

  /// The grid that runs on the calling thread now; its current fibre calls the functions below.
  [[nodiscard]] static Grid& current() noexcept { return *running_; }
  [[nodiscard]] Thread& thread() noexcept { return *thread_; }

  void access(const void* address, std::size_t bytes, unsigned touch, const void* at);
  void load(const void* from, void* to, unsigned bytes, const void* at);
  void start_copy(void* to, const void* from, unsigned bytes, const void* at);
  void copies_arrived();
  void let_next_launch_start();
  void wait_for_previous_launch();
  [[nodiscard]] void* shared_piece(int piece, int offset, int count, const void* at);

  int barrier(Vote vote, int predicate, const Line& line);
  void cluster_barrier(const Line& line);
  unsigned long long warp(WarpOperation operation, unsigned mask, unsigned long long value, int argument, int width,
                          const Line& line);
  [[nodiscard]] unsigned active_mask();

  void post(void* to, const Quad& value, const void* at);
  [[nodiscard]] Quad look(const void* from, const Line& line);
  void mailbox_open(void* box, const void* at);
  void mailbox_expect(void* box, int bytes, const void* at);
  void mailbox_wait(void* box, int round, const Line& line);
  void mailbox_send(void* box, int rank, void* to, const Quad& value, const void* at);

  /// Throws a finding about the current thread.
  [[noreturn]] void stop(Status status, std::string what, const void* at);
  [[noreturn]] void stop(Finding finding);
  /// The fault that ends the launch; the current fibre is not resumed after that.
  void keep(Finding finding);
  [[noreturn]] void abandon();

 private:
  // grid.cpp: scheduling
  void begin_clusters();
  void begin(std::uint32_t cluster_number);
  void end(Cluster& cluster);
  static void run_thread(void* thread);
  void exit_thread(Thread& thread);
  void ready(Thread& thread);
  void suspend(Wait wait, const Line& line);
  void yield();
  [[nodiscard]] Thread& next();
  [[nodiscard]] Finding deadlock() const;
  [[nodiscard]] Index3 block_index(std::uint32_t number) const;
  [[nodiscard]] Index3 thread_index(unsigned index) const;
  [[nodiscard]] std::size_t shared_span() const;
  void progress() noexcept { fruitless_ = idle_looks_ = 0; }

  // memory_check.cpp
  struct Viewer;
  static constexpr unsigned kLater = 8;    // beside Touch: the value is on its way
  static constexpr unsigned kCopies = 16;  // it need not have been written: what is copied is not used yet
  void check(const void* address, std::size_t bytes, unsigned touch, const void* at, const Viewer& viewer);
  void check_word(Cell& cell, std::uint8_t mask, unsigned touch, const void* address, const void* at,
                  const Viewer& viewer);
  void note_read(Cell& cell, std::uint8_t mask, unsigned touch, const void* at, const Viewer& viewer);
  [[nodiscard]] Viewer viewer_of(Thread& thread);
  [[nodiscard]] std::string describe(const void* address) const;
  enum class Of { all, reads };  // which part of what others did
  [[nodiscard]] bool ordered(Segment segment, Of of, const Viewer& viewer) const;
  [[nodiscard]] bool reads_ordered(const Cell& cell, const Viewer& viewer) const;
  [[nodiscard]] bool lanes_ordered(std::uint32_t lanes, Segment last, Of of, const Viewer& viewer) const;
  [[nodiscard]] Segment new_segment(ThreadNumber thread);
  [[noreturn]] void race(const char* mine, const char* theirs, Segment segment, std::uint32_t other_at,
                         const void* address, const void* at);
  [[noreturn]] void untouchable(const void* address, std::size_t bytes, unsigned touch, const void* at);
  [[nodiscard]] std::string who(Segment segment) const;
  [[nodiscard]] Known all_known_to(const Thread& thread) const;
  void learn(Thread& thread, const SharedKnowledge& all, const SharedKnowledge& reads);
  void meet(Block& block);
  void meet(Cluster& cluster);

  // warp.cpp
  void not_awaited(Thread& thread, const char* instead, const void* at);
  void inform(Block& block, unsigned first, const WarpMeeting& meeting);
  void complete(Block& block, unsigned first, const WarpMeeting& meeting);

  // exchange.cpp
  void send(Delivery delivery);
  bool deliver_one();
  void deliver(const Delivery& delivery);
  [[nodiscard]] Mailbox& opened(Block& block, std::ptrdiff_t offset, const void* at);
  void complete_round(Block& block, Mailbox& mailbox);
  [[nodiscard]] std::ptrdiff_t shared_offset(const void* address, std::size_t alignment, const char* what,
                                             const void* at);

  static thread_local Grid* running_;

  Machine& machine_;
  const GridLaunch& launch_;
  Order order_;
  const unsigned block_threads_;
  const std::uint32_t blocks_;
  const Segment first_segment_;
  const std::uint32_t first_read_set_;
  std::vector<ThreadNumber> segment_threads_;  ///< of the launch's segments
  std::vector<ReadSet> read_sets_;             ///< of the launch

  std::vector<std::uint32_t> waiting_clusters_;  ///< to be started, in an order of their own
  std::vector<std::unique_ptr<Cluster>> alive_;
  std::size_t places_ = 1;  ///< clusters alive at a time
  std::vector<Thread*> ready_;
  std::size_t ready_begin_ = 0;
  std::size_t unfinished_ = 0;  ///< threads alive
  std::vector<Thread*> pollers_;
  std::size_t fruitless_ = 0;  ///< times all pollers were woken since anything changed
  std::vector<Delivery> deliveries_;
  /// A packet as others see it.
  struct Visible {
    std::uint64_t changes = 0;
    SharedKnowledge reads;  ///< what its sender knew to have been read
  };
  std::map<const void*, Visible> packets_;
  Thread* thread_ = nullptr;
  std::size_t idle_looks_ = 0;  ///< at packets, since anything changed
  bool any_waited_ = false;     ///< for the previous launch
  bool let_early_ = false;      ///< the next launch was let start by a thread that had not waited for the previous one
  struct Joined {
    SharedKnowledge a, b, both;
  };
  Joined last_all_, last_reads_;  ///< the threads of a block mostly learn the same
  std::optional<Finding> finding_;
};

}  // namespace heddle::emulator
