// kernels/common/exchange.cuh for the emulator: the same interface.
#pragma once

#include "heddle/kernels/common/memory.cuh"

namespace heddle {

struct alignas(16) Packet {
  float a, b, c;
  unsigned stamp;
};

HEDDLE_CALL void post(Packet* to, const Packet& packet) {
  heddle_emulator_calls->post(to, __builtin_bit_cast(emulator::Quad, packet), sizeof(Packet), HEDDLE_AT);
}

HEDDLE_CALL Packet look(const Packet* from, HEDDLE_CALLER) {
  return __builtin_bit_cast(Packet, heddle_emulator_calls->look(from, sizeof(Packet), HEDDLE_LINE));
}

HEDDLE_CALL void post_word(unsigned* to, unsigned word) {
  heddle_emulator_calls->post(to, emulator::Quad{{word, 0, 0, 0}}, sizeof(unsigned), HEDDLE_AT);
}

HEDDLE_CALL unsigned look_word(const unsigned* from, HEDDLE_CALLER) {
  return heddle_emulator_calls->look(from, sizeof(unsigned), HEDDLE_LINE).word[0];
}

/// There is nothing to gain by waiting.
HEDDLE_PLAIN inline unsigned cycles_now() { return 0; }
HEDDLE_PLAIN inline void wait_since(unsigned, int) {}

/// Endless: the emulator itself finds out that nobody makes progress.
class Patience {
 public:
  __device__ __forceinline__ bool exhausted() { return false; }
};

#if __CUDA_ARCH__ >= 900

HEDDLE_CALL int cluster_rank() { return heddle_emulator_calls->cluster_rank(); }
HEDDLE_CALL int cluster_blocks() { return heddle_emulator_calls->cluster_blocks(); }
HEDDLE_CALL void cluster_barrier(HEDDLE_CALLER) { heddle_emulator_calls->cluster_barrier(HEDDLE_LINE); }
HEDDLE_CALL void cluster_arrive(HEDDLE_CALLER) {
  heddle_emulator_calls->cluster_arrive(emulator::HandsOn::all, HEDDLE_LINE);
}
HEDDLE_CALL void cluster_wait(HEDDLE_CALLER) { heddle_emulator_calls->cluster_wait(HEDDLE_LINE); }

HEDDLE_CALL Pack<4> load_from_block(int rank, const float* from) {
  return __builtin_bit_cast(Pack<4>, heddle_emulator_calls->cluster_load(rank, from, HEDDLE_AT));
}

class Mailbox {
 public:
  HEDDLE_PLAIN explicit Mailbox(int* words) : words_(words) {}

  HEDDLE_CALL void open() const { heddle_emulator_calls->mailbox_open(words_, HEDDLE_AT); }
  HEDDLE_CALL void expect(int bytes) const { heddle_emulator_calls->mailbox_expect(words_, bytes, HEDDLE_AT); }
  HEDDLE_CALL void wait(int round, HEDDLE_CALLER) const {
    heddle_emulator_calls->mailbox_wait(words_, round, HEDDLE_LINE);
  }
  HEDDLE_CALL void send(int rank, float* to, const Pack<4>& value) const {
    heddle_emulator_calls->mailbox_send(words_, rank, to, __builtin_bit_cast(emulator::Quad, value), HEDDLE_AT);
  }
  HEDDLE_CALL void fetch(float* to, const float* from, int words) const {
    for (int i = 0; i < words; i += 4) {
      heddle_emulator_calls->mailbox_fetch(words_, to + i, __builtin_bit_cast(emulator::Quad, load<4>(from + i)),
                                           HEDDLE_AT);
    }
  }
  HEDDLE_PLAIN static void publish() {}

 private:
  int* words_;
};

#endif

}  // namespace heddle
