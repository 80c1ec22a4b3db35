// One launch: blocks of threads, each thread a fibre, scheduled in an order that a seed decides and watched at every
// access to memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/plan.hpp"
#include "heddle/runtime/device/emulator/finding.hpp"
#include "heddle/runtime/device/emulator/kernel/interface.hpp"
#include "heddle/runtime/device/emulator/knowledge.hpp"
#include "heddle/runtime/device/emulator/machine.hpp"
#include "heddle/runtime/device/emulator/order.hpp"
#include "heddle/runtime/device/emulator/schedule.hpp"
#include "heddle/runtime/device/emulator/threads.hpp"

namespace heddle::emulator {

/// A store to another block, on its way.
struct Delivery {
  std::byte* to = nullptr;
  Quad value{};
  unsigned bytes = sizeof(Quad);  ///< of the value that are sent
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
  [[nodiscard]] Thread& current_thread() noexcept { return *schedule_.current(); }

  void access(const void* address, std::size_t bytes, unsigned touch, const void* at);
  void load(const void* from, void* to, unsigned bytes, const void* at);
  void start_copy(void* to, const void* from, unsigned bytes, const void* at);
  void copies_arrived();
  void end_group();
  void groups_arrived(unsigned later);
  void let_next_launch_start();
  void wait_for_previous_launch();
  [[nodiscard]] void* shared_piece(int piece, int offset, int count, const void* at);

  int barrier(Vote vote, int predicate, const Line& line);
  void partial_barrier(int number, int threads, const Line& line);
  void cluster_barrier(const Line& line);
  void cluster_arrive(HandsOn hands_on, const Line& line);
  void cluster_wait(const Line& line);
  unsigned long long warp(WarpOperation operation, unsigned mask, unsigned long long value, int argument, int width,
                          const Line& line);
  [[nodiscard]] unsigned active_mask();

  void post(void* to, const Quad& value, unsigned bytes, const void* at);
  [[nodiscard]] Quad look(const void* from, unsigned bytes, const Line& line);
  [[nodiscard]] Quad cluster_load(int rank, const void* from, const void* at);
  void mailbox_open(void* box, const void* at);
  void mailbox_expect(void* box, int bytes, const void* at);
  void mailbox_wait(void* box, int round, const Line& line);
  void mailbox_send(void* box, int rank, void* to, const Quad& value, const void* at);
  void mailbox_fetch(void* box, void* to, const Quad& value, const void* at);

  /// Throws a finding about the current thread.
  [[noreturn]] void stop(Status status, std::string what, const void* at);
  [[noreturn]] void stop(Finding finding);
  /// The fault that ends the launch; the current fibre is not resumed after that.
  void keep(Finding finding);
  [[noreturn]] void abandon();

 private:
  // grid.cpp: from the first cluster to the end of the last
  void begin_clusters();
  void begin(std::uint32_t cluster_number);
  void end(Cluster& cluster);
  static void run_thread(void* thread);
  void exit_thread(Thread& thread);
  [[nodiscard]] Index3 block_index(std::uint32_t number) const;
  [[nodiscard]] Index3 thread_index(unsigned index) const;

  // memory_check.cpp
  /// Copies of the current thread arrive, as far as their groups are before this one.
  void copies_before(std::uint64_t group);

  // shared_memory.cpp
  [[nodiscard]] std::size_t shared_span() const;

  // barrier.cpp
  void meet(Block& block);
  void meet(PartialBarrier& barrier);
  void meet(Cluster& cluster);
  void with_whole_warp(const Thread& thread, const Line& line);
  void nobody_exited(const Cluster& cluster, const Line& line);

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

  // warp.cpp
  void not_awaited(Thread& thread, const char* instead, const void* at);
  void inform(Block& block, unsigned first, const WarpMeeting& meeting);
  void complete(Block& block, unsigned first, const WarpMeeting& meeting);

  // exchange.cpp
  void send(Delivery delivery);
  bool deliver_one();
  void deliver(const Delivery& delivery);
  [[nodiscard]] Block& of_cluster(int rank, const char* does, const void* at);
  [[nodiscard]] Mailbox& opened(Block& block, std::ptrdiff_t offset, const void* at);
  void complete_round(Block& block, Mailbox& mailbox);
  void bring(Block& block, void* box, void* to, const Quad& value, const void* at);
  [[nodiscard]] std::ptrdiff_t shared_offset(const void* address, std::size_t alignment, const char* what,
                                             const void* at);

  static thread_local Grid* running_;

  Machine& machine_;
  const GridLaunch& launch_;
  Order order_;
  Schedule schedule_;
  const unsigned block_threads_;
  const std::uint32_t blocks_;
  const Segment first_segment_;
  const std::uint32_t first_read_set_;
  std::vector<ThreadNumber> segment_threads_;  ///< of the launch's segments
  std::vector<ReadSet> read_sets_;             ///< of the launch

  std::vector<std::uint32_t> waiting_clusters_;  ///< to be started, in an order of their own
  std::vector<std::unique_ptr<Cluster>> alive_;
  std::size_t places_ = 1;      ///< clusters alive at a time
  std::size_t unfinished_ = 0;  ///< threads alive
  std::vector<Delivery> deliveries_;
  /// A packet as others see it.
  struct Visible {
    std::uint64_t changes = 0;
    SharedKnowledge reads;  ///< what its sender knew to have been read
  };
  std::map<const void*, Visible> packets_;
  bool any_waited_ = false;  ///< for the previous launch
  bool let_early_ = false;   ///< the next launch was let start by a thread that had not waited for the previous one
  struct Joined {
    SharedKnowledge a, b, both;
  };
  Joined last_all_, last_reads_;  ///< the threads of a block mostly learn the same
  std::optional<Finding> finding_;
};

}  // namespace heddle::emulator
