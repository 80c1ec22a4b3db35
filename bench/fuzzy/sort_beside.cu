// What fuzzy-sort is compared with, on the same GPU: CUB's sort of (key, position) pairs, plain gathers of numbers by
// these positions, and thrust::sort_by_key over structures, alone and with their positions in them, which fuzzy-sort
// gives as well. Comma-separated values on standard output.
//
//   nvcc -O3 -std=c++17 -arch=native bench/fuzzy/sort_beside.cu -o sort_beside && ./sort_beside [NUMBERS [MOST_CUTS]]
//
// "gather" is the faster one of a thread for each component and a thread for each number, where a number's components
// lie next to each other; "gather_cuts" is that of an array for each component. All times are in microseconds, and none
// has an allocation in it.
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/mr/allocator.h>
#include <thrust/mr/disjoint_pool.h>
#include <thrust/mr/new.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/memory_resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <functional>
#include <random>
#include <vector>

namespace {

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "sort_beside: %s\n", cudaGetErrorString(error));
  std::exit(4);
}

/// Device memory that is freed.
template <class T>
class Array {
 public:
  explicit Array(std::size_t count) { check(cudaMalloc(&data_, count * sizeof(T))); }
  ~Array() { cudaFree(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

/// Memory for Thrust's temporary arrays, which it would else get from cudaMalloc in every call: kept for the next one.
using KeptMemory = thrust::mr::disjoint_unsynchronized_pool_resource<thrust::system::cuda::memory_resource,
                                                                     thrust::mr::new_delete_resource>;

/// Microseconds of the fastest of several runs; `before` is not counted.
double fastest(
    const std::function<void()>& run, const std::function<void()>& before = [] {}, int repetitions = 9) {
  cudaEvent_t start, end;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&end));
  float best = 1e30F;
  for (int i = 0; i <= repetitions; ++i) {  // once to warm up
    before();
    check(cudaEventRecord(start));
    run();
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float milliseconds = 0.0F;
    check(cudaEventElapsedTime(&milliseconds, start, end));
    if (i > 0) best = std::min(best, milliseconds);
  }
  check(cudaEventDestroy(start));
  check(cudaEventDestroy(end));
  return 1e3 * best;
}

template <class Real, int Components>
struct Number {
  Real component[Components];
};

template <class Real>
__global__ void gather_components(const Real* from, const unsigned* positions, Real* to, int components,
                                  long long all) {
  const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at < all) to[at] = from[positions[at / components] * static_cast<long long>(components) + at % components];
}
template <class Whole>
__global__ void gather_numbers(const Whole* from, const unsigned* positions, Whole* to, int count) {
  const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (at < count) to[at] = from[positions[at]];
}
template <class Real>
__global__ void gather_cuts(const Real* from, const unsigned* positions, Real* to, int count) {
  const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const long long array = static_cast<long long>(blockIdx.y) * count;
  if (at < count) to[array + at] = from[array + positions[at]];
}

struct Less {
  template <class T>
  __device__ bool operator()(T a, T b) const {
    return a < b;
  }
};

/// A number that takes along where it stood.
template <class Whole>
struct Placed {
  Whole number;
  unsigned position;
};

/// Microseconds of thrust::sort_by_key over copies of `keys` and `from`.
template <class Real, class Value>
double thrust_sort(const Value* from, Value* to, const Real* keys, int count) {
  // Larger structures have no room in the shared memory of its radix sort; its merge sort takes them.
  constexpr std::size_t kRadixBytes = 100;
  const Array<Real> sorted(count);
  KeptMemory kept;
  thrust::mr::allocator<char, KeptMemory> temporary(&kept);
  return fastest(
      [&] {
        const auto first = thrust::device_pointer_cast(sorted.get());
        const auto values = thrust::device_pointer_cast(to);
        if constexpr (sizeof(Value) <= kRadixBytes) {
          thrust::sort_by_key(thrust::cuda::par(temporary), first, first + count, values);
        } else {
          thrust::sort_by_key(thrust::cuda::par(temporary), first, first + count, values, Less{});
        }
      },
      [&] {
        const auto all = static_cast<std::size_t>(count);
        check(cudaMemcpy(sorted.get(), keys, sizeof(Real) * all, cudaMemcpyDeviceToDevice));
        check(cudaMemcpy(to, from, sizeof(Value) * all, cudaMemcpyDeviceToDevice));
      },
      5);
}

unsigned blocks(long long threads) { return static_cast<unsigned>((threads + 255) / 256); }

template <class Real, int Components>
void measure(const char* encoding, int cuts, int most_cuts, int count, const Real* keys, const unsigned* positions,
             double pairs, std::FILE* file) {
  if (cuts > most_cuts) return;
  using Whole = Number<Real, Components>;
  const Array<Whole> from(count), to(count);
  check(cudaMemset(from.get(), 0x3f, sizeof(Whole) * static_cast<std::size_t>(count)));
  auto* const reals = reinterpret_cast<Real*>(from.get());
  auto* const moved = reinterpret_cast<Real*>(to.get());
  const long long all = static_cast<long long>(count) * Components;
  const double by_component =
      fastest([&] { gather_components<<<blocks(all), 256>>>(reals, positions, moved, Components, all); });
  const double by_number =
      fastest([&] { gather_numbers<<<blocks(count), 256>>>(from.get(), positions, to.get(), count); }, [] {}, 3);
  const double by_cut =
      fastest([&] { gather_cuts<<<dim3(blocks(count), Components), 256>>>(reals, positions, moved, count); });
  const double thrust = thrust_sort(from.get(), to.get(), keys, count);
  const Array<Placed<Whole>> placed(count), placed_to(count);
  check(cudaMemset(placed.get(), 0x3f, sizeof(Placed<Whole>) * static_cast<std::size_t>(count)));
  const double with_positions = thrust_sort(placed.get(), placed_to.get(), keys, count);
  std::fprintf(file, "%s,%d,%d,%.1f,%.1f,%.1f,%.1f,%.1f\n", encoding, static_cast<int>(8 * sizeof(Real)), cuts, pairs,
               std::min(by_component, by_number), by_cut, thrust, with_positions);
  std::fflush(file);
}

template <class Real>
void measure_type(int count, int most_cuts, std::FILE* file) {
  std::mt19937_64 random(7);
  std::vector<Real> host(static_cast<std::size_t>(count));
  for (Real& key : host) key = static_cast<Real>(static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
  std::vector<unsigned> in_order(host.size());
  for (std::size_t i = 0; i < in_order.size(); ++i) in_order[i] = static_cast<unsigned>(i);
  const Array<Real> keys(count), sorted(count);
  const Array<unsigned> indices(count), positions(count);
  check(cudaMemcpy(keys.get(), host.data(), sizeof(Real) * host.size(), cudaMemcpyHostToDevice));
  check(cudaMemcpy(indices.get(), in_order.data(), sizeof(unsigned) * in_order.size(), cudaMemcpyHostToDevice));
  std::size_t bytes = 0;
  check(
      cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys.get(), sorted.get(), indices.get(), positions.get(), count));
  const Array<char> scratch(bytes);
  const double pairs = fastest([&] {
    check(cub::DeviceRadixSort::SortPairs(scratch.get(), bytes, keys.get(), sorted.get(), indices.get(),
                                          positions.get(), count));
  });
  measure<Real, 2>("lu", 1, most_cuts, count, keys.get(), positions.get(), pairs, file);
  measure<Real, 4>("lu", 2, most_cuts, count, keys.get(), positions.get(), pairs, file);
  measure<Real, 8>("lu", 4, most_cuts, count, keys.get(), positions.get(), pairs, file);
  measure<Real, 16>("lu", 8, most_cuts, count, keys.get(), positions.get(), pairs, file);
  measure<Real, 32>("lu", 16, most_cuts, count, keys.get(), positions.get(), pairs, file);
  measure<Real, 48>("lu", 24, most_cuts, count, keys.get(), positions.get(), pairs, file);
  measure<Real, 2>("mr", 1, most_cuts, count, keys.get(), positions.get(), pairs, file);
  measure<Real, 3>("mr", 2, most_cuts, count, keys.get(), positions.get(), pairs, file);
  measure<Real, 5>("mr", 4, most_cuts, count, keys.get(), positions.get(), pairs, file);
  measure<Real, 9>("mr", 8, most_cuts, count, keys.get(), positions.get(), pairs, file);
  measure<Real, 17>("mr", 16, most_cuts, count, keys.get(), positions.get(), pairs, file);
  measure<Real, 25>("mr", 24, most_cuts, count, keys.get(), positions.get(), pairs, file);
}

}  // namespace

int main(int count, char** words) {
  const int numbers = count > 1 ? std::atoi(words[1]) : 10000000, most_cuts = count > 2 ? std::atoi(words[2]) : 24;
  if (numbers < 1 || most_cuts < 1 || count > 3) {
    std::fprintf(stderr, "usage: sort_beside [NUMBERS [MOST_CUTS]]\n");
    return 2;
  }
  std::printf("encoding,bits,cuts,pairs,gather,gather_cuts,thrust,thrust_positions\n");
  measure_type<float>(numbers, most_cuts, stdout);
  measure_type<double>(numbers, most_cuts, stdout);
  return 0;
}
