// Communication between co-resident blocks: packets through global memory, and messages into the shared memory of the
// blocks of a cluster. This is the only place in the templates with such accesses and their PTX. A device that runs
// templates without a GPU replaces this file.
//
// Memory model: PTX ISA, "Memory Consistency Model". A packet is one single-copy atomic access of 128 bits, so that a
// thread that reads its stamp has its data; it orders no other access. The word beside the data is the stamp xor all
// data, so that all words are needed to know the stamp: ptxas (13.0) splits a 128-bit load with unused words into
// narrower loads, which would not be one access.
#pragma once

#include "heddle/kernels/common/memory.cuh"

namespace heddle {

/// Three values and the round they belong to. Written by one thread, read by any.
struct alignas(16) Packet {
  float a, b, c;
  unsigned stamp;
};

/// Stores a packet in global memory, relaxed, for the whole GPU to see.
__device__ __forceinline__ void post(Packet* to, const Packet& packet) {
  asm volatile(
      "{\n\t.reg .b128 whole;\n\t.reg .b64 low, high;\n\t"
      "mov.b64 low, {%1, %2};\n\tmov.b64 high, {%3, %4};\n\tmov.b128 whole, {low, high};\n\t"
      "st.relaxed.gpu.global.b128 [%0], whole;\n\t}" ::"l"(__cvta_generic_to_global(to)),
      "r"(__float_as_uint(packet.a)), "r"(__float_as_uint(packet.b)), "r"(__float_as_uint(packet.c)),
      "r"(packet.stamp ^ __float_as_uint(packet.a) ^ __float_as_uint(packet.b) ^ __float_as_uint(packet.c))
      : "memory");
}

/// One look at a packet in global memory; poll until the stamp is the one awaited.
__device__ __forceinline__ Packet look(const Packet* from) {
  unsigned a, b, c, mixed;
  asm volatile(
      "{\n\t.reg .b128 whole;\n\t.reg .b64 low, high;\n\t"
      "ld.relaxed.gpu.global.b128 whole, [%4];\n\tmov.b128 {low, high}, whole;\n\t"
      "mov.b64 {%0, %1}, low;\n\tmov.b64 {%2, %3}, high;\n\t}"
      : "=r"(a), "=r"(b), "=r"(c), "=r"(mixed)
      : "l"(__cvta_generic_to_global(from))
      : "memory");
  return {__uint_as_float(a), __uint_as_float(b), __uint_as_float(c), mixed ^ a ^ b ^ c};
}

/// Stores a word in global memory, relaxed, for the whole GPU to see. It orders no other access: a message that fits
/// into the word itself.
__device__ __forceinline__ void post_word(unsigned* to, unsigned word) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(to)), "r"(word) : "memory");
}

/// One look at a word in global memory that another block posts.
__device__ __forceinline__ unsigned look_word(const unsigned* from) {
  unsigned word;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(__cvta_generic_to_global(from)) : "memory");
  return word;
}

/// Cycles of this multiprocessor; starts again from 0 when it is full.
__device__ __forceinline__ unsigned cycles_now() {
  unsigned now;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
  return now;
}

/// Returns when `cycles` have passed since cycles_now() was `since`.
__device__ __forceinline__ void wait_since(unsigned since, int cycles) {
  while (cycles_now() - since < static_cast<unsigned>(cycles)) {
  }
}

/// Whether a thread that polls has waited for longer than any block can lag behind: then one is lost, and waiting on
/// would hang the GPU. Ask once per poll; only every 1024th looks at the clock.
class Patience {
 public:
  __device__ __forceinline__ bool exhausted() {
    if (++polls_ % 1024 != 0) return false;
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (polls_ == 1024) since_ = now;
    return now - since_ > kNanoseconds;
  }

 private:
  static constexpr unsigned long long kNanoseconds = 4000000000ull;
  unsigned polls_ = 0;
  unsigned long long since_ = 0;
};

#if __CUDA_ARCH__ >= 900

__device__ __forceinline__ int cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
}

__device__ __forceinline__ int cluster_blocks() {
  unsigned blocks;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return static_cast<int>(blocks);
}

/// A barrier of all threads of all blocks of the cluster; orders their accesses to shared memory.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// The same in two halves. What a thread does between them is not ordered with what other blocks do.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  __syncwarp();
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// 16 bytes of what block `rank` of the cluster has where `from` is here. A cluster_barrier() goes before it, after
/// they were written, and another has to follow before they change.
__device__ __forceinline__ Pack<4> load_from_block(int rank, const float* from) {
  Pack<4> value;
  asm volatile(
      "{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %4, %5;\n\t"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];\n\t}"
      : "=f"(value.value[0]), "=f"(value.value[1]), "=f"(value.value[2]), "=f"(value.value[3])
      : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))), "r"(rank)
      : "memory");
  return value;
}

/// Counts the bytes that arrive in a block's shared memory. Lives in shared memory, in 2 words that are 8-byte aligned,
/// at the same place in every block of the cluster. Its rounds are numbered 0, 1, 2, ...; a message of the next round
/// must not be sent to it before this one is complete.
class Mailbox {
 public:
  __device__ __forceinline__ explicit Mailbox(int* words) : words_(words) {}

  /// One thread; a cluster_barrier() has to follow before anybody sends.
  __device__ __forceinline__ void open() const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(address(words_))
                 : "memory");
  }
  /// One thread, once a round: how many bytes the round brings in all.
  __device__ __forceinline__ void expect(int bytes) const {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(words_)), "r"(bytes)
                 : "memory");
  }
  /// Waits until the bytes of `round` have arrived; the calling thread then sees them. The hardware tells only whether
  /// the number of the present round is odd. So the next round must not end before all who wait for this one have seen
  /// its end, however late they come: a thread that came later would wait for ever.
  __device__ __forceinline__ void wait(int round) const {
    asm volatile(
        "{\n\t.reg .pred done;\n\tAGAIN:\n\t"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n\t"
        "@!done bra AGAIN;\n\t}" ::"r"(address(words_)),
        "r"(round & 1)
        : "memory");
  }
  /// Stores 16 bytes where block `rank` of the cluster has what is here at `to`, and counts them in its mailbox.
  __device__ __forceinline__ void send(int rank, float* to, const Pack<4>& value) const {
    asm volatile(
        "{\n\t.reg .b32 there, box;\n\tmapa.shared::cluster.u32 there, %0, %2;\n\tmapa.shared::cluster.u32 box, %1, "
        "%2;\n\t"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [there], {%3, %4, %5, %6}, [box];\n\t}" ::"r"(
            address(to)),
        "r"(address(words_)), "r"(rank), "f"(value.value[0]), "f"(value.value[1]), "f"(value.value[2]),
        "f"(value.value[3])
        : "memory");
  }
  /// One thread: copies `words` floats, a multiple of 4, from global memory to this block's shared memory, and counts
  /// them in this mailbox. Threads that have written them call publish() before, and a barrier follows.
  __device__ __forceinline__ void fetch(float* to, const float* from, int words) const {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address(to)),
        "l"(__cvta_generic_to_global(from)), "r"(4 * words), "r"(address(words_))
        : "memory");
  }
  /// What the thread has written may be copied after a barrier that follows.
  __device__ __forceinline__ static void publish() { asm volatile("fence.proxy.async;" ::: "memory"); }

 private:
  __device__ __forceinline__ static unsigned address(const void* shared) {
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
  }
  int* words_;
};

#endif

}  // namespace heddle
