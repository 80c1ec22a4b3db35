// Shared memory, launches that overlap, and vector access: the only places in the templates with raw declarations and
// PTX. A device that runs templates without a GPU replaces this file.
#pragma once

namespace heddle {

/// `Width` floats that are loaded and stored as one access of 4 * Width bytes.
template <int Width>
struct alignas(4 * Width) Pack {
  float value[Width];
};

template <int Width>
__device__ __forceinline__ Pack<Width> filled(float value) {
  Pack<Width> pack;
#pragma unroll
  for (int v = 0; v < Width; ++v) pack.value[v] = value;
  return pack;
}

template <int Width>
__device__ __forceinline__ Pack<Width> load(const float* from) {
  return *reinterpret_cast<const Pack<Width>*>(from);
}

template <int Width>
__device__ __forceinline__ void store(float* to, const Pack<Width>& pack) {
  *reinterpret_cast<Pack<Width>*>(to) = pack;
}

/// Hands out a block's dynamic shared memory, front to back. Every thread takes the same pieces in the same order;
/// sizes are in elements of 4 bytes, so the host adds them up without knowing more.
class SharedMemory {
 public:
  template <class T>
  __device__ __forceinline__ T* take(int count) {
    static_assert(sizeof(T) == 4, "pieces are counted in words");
    extern __shared__ __align__(16) float heddle_shared_words[];
    T* piece = reinterpret_cast<T*>(heddle_shared_words + used_);
    used_ += count;
    return piece;
  }

 private:
  int used_ = 0;
};

/// Starts a copy of `Width` floats (1 or 4) to shared memory that does not hold up the thread; copies_arrived() waits
/// for this thread's copies, after which a barrier makes them visible to the block. Both addresses are multiples of
/// 4 * Width bytes.
template <int Width = 1>
__device__ __forceinline__ void start_copy(float* shared_to, const float* from) {
  static_assert(Width == 1 || Width == 4, "one access");
#if __CUDA_ARCH__ >= 800
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared_to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(4 * Width) : "memory");
#else
  store<Width>(shared_to, load<Width>(from));
#endif
}

__device__ __forceinline__ void copies_arrived() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// Starts to bring the line of the L2 cache that holds this address of global memory there. Nobody waits for it.
__device__ __forceinline__ void bring_into_cache(const float* from) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

/// First thing in a branch that is seldom taken: the compiler shall not do what it holds every time, and then choose.
__device__ __forceinline__ void seldom(float& value) { asm volatile("" : "+f"(value)); }

/// For launches with Launch::programmatic: lets the next launch be set up while this one runs, and waits until
/// everything the previous launches wrote is there. Both do nothing in an ordinary launch.
__device__ __forceinline__ void let_next_launch_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ __forceinline__ void wait_for_previous_launch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace heddle
