// The interface between compiled kernels and the emulator. Plain types: compiled with the emulator and, at run time,
// with every template, so no other header is included.
#pragma once

namespace heddle::emulator {

struct Index3 {
  unsigned x, y, z;
};

/// Where one thread stands in its launch.
struct Place {
  Index3 thread, block, block_size, grid;
};

/// How memory is touched. Bits.
enum Touch : unsigned {
  kRead = 1,
  kWrite = 2,
  kAtomic = 4,  ///< one access that cannot be torn; two of them are no race
};

/// Operations that the lanes of a mask do together.
enum class WarpOperation : unsigned {
  sync,  ///< the only one that orders memory
  shuffle_index,
  shuffle_up,
  shuffle_down,
  shuffle_xor,
  all,
  any,
  ballot,
  match_any,
  match_all,
  add,
  minimum,
  maximum,
  signed_minimum,
  signed_maximum,
  bit_and,
  bit_or,
  bit_xor,
};

/// The question that the threads of a block decide at a barrier.
enum class Vote : unsigned { none, count, all, any };

/// The accesses before an arrival at a barrier that those who wait there can rely on.
enum class HandsOn : unsigned {
  all,
  reads,  ///< those that a barrier of the thread's block, or of some of its warps, has completed
};

/// Where in the source of a kernel a call stands. `file` and `line` tell one call from another whatever the compiler
/// made of it; the address leads to those that inlined it.
struct Line {
  const char* file;
  unsigned line;
  const void* at;
};

/// 16 bytes that travel as one.
struct Quad {
  unsigned word[4];
};

/// The functions behind the emulated language, called on the fibre of a thread.
struct Calls {
  const Place* (*place)();
  void (*access)(const void* address, unsigned long bytes, unsigned touch, const void* at);
  void (*load)(const void* from, void* to, unsigned bytes, const void* at);
  void (*undefined)(const char* what, const void* data, const void* at);
  void (*trap)(const void* at);
  int (*barrier)(Vote vote, int predicate, Line line);
  void (*partial_barrier)(int number, int threads, Line line);
  unsigned long long (*warp)(WarpOperation operation, unsigned mask, unsigned long long value, int argument, int width,
                             Line line);
  unsigned (*active_mask)();
  void* (*shared_piece)(int piece, int offset, int count, const void* at);
  void (*start_copy)(void* shared_to, const void* from, unsigned bytes, const void* at);
  void (*copies_arrived)();
  void (*end_group)();
  void (*groups_arrived)(unsigned later);
  void (*let_next_launch_start)();
  void (*wait_for_previous_launch)();
  // The first `bytes` of the value: a packet, or a word.
  void (*post)(void* to, Quad value, unsigned bytes, const void* at);
  Quad (*look)(const void* from, unsigned bytes, Line line);
  int (*cluster_rank)();
  int (*cluster_blocks)();
  void (*cluster_barrier)(Line line);
  void (*cluster_arrive)(HandsOn hands_on, Line line);
  void (*cluster_wait)(Line line);
  Quad (*cluster_load)(int rank, const void* from, const void* at);
  void (*mailbox_open)(void* box, const void* at);
  void (*mailbox_expect)(void* box, int bytes, const void* at);
  void (*mailbox_wait)(void* box, int round, Line line);
  void (*mailbox_send)(void* box, int rank, void* to, Quad value, const void* at);
  void (*mailbox_fetch)(void* box, void* to, Quad value, const void* at);
};

/// A kernel as the emulator starts it, once per thread; `arguments` point to the values.
using Kernel = void (*)(void* const* arguments);

}  // namespace heddle::emulator
