// Kernels that add one to every value for every sample, most of them with a fault, for the CPU.
#pragma once

#include <cstdlib>
#include <cstring>

#include "heddle/kernels/common/cpu_launch.hpp"

namespace heddle::faults {

using cpu::LaunchContext;

/// arguments: values, result, size, samples. `Work`: how often everything is done.
struct Arguments {
  explicit Arguments(void* const* at)
      : values(static_cast<float*>(at[0])),
        result(static_cast<float*>(at[1])),
        size(*static_cast<const int*>(at[2])),
        samples(*static_cast<const int*>(at[3])) {}
  float* values;
  float* result;
  int size, samples;
};

template <int Work>
void add(const Arguments& a, int size) {
  for (int sample = 0; sample < a.samples; ++sample) {
    for (int i = 0; i < size; ++i) {
      volatile float sum = a.values[i] + 1.0f;
      for (int again = 1; again < 64 * Work; ++again) sum = a.values[i] + 1.0f;
      a.values[i] = sum;
      a.result[i] = sum;
    }
  }
}

template <int Work>
void good(const LaunchContext&, void* const* at) {
  const Arguments a(at);
  add<Work>(a, a.size);
}
template <int Work>
void null(const LaunchContext&, void* const* at) {
  volatile float* volatile nothing = nullptr;  // or the compiler leaves the store out
  *nothing = Arguments(at).values[0];
}
template <int Work>
void spin(const LaunchContext&, void* const* at) {
  volatile float* const values = Arguments(at).values;
  while (values[0] > -1e30f) {
  }
}
template <int Work>
void memory(const LaunchContext&, void* const*) {
  constexpr std::size_t kPiece = std::size_t{8} << 20;
  while (void* const piece = std::malloc(kPiece)) std::memset(piece, 1, kPiece);
  std::abort();
}
template <int Work>
void leave(const LaunchContext&, void* const*) {
  std::_Exit(0);
}
template <int Work>
void outside(const LaunchContext&, void* const* at) {
  const Arguments a(at);
  add<0>(a, a.size);
  a.result[a.size] = 1.0f;
}
template <int Work>
void even(const LaunchContext&, void* const* at) {
  const Arguments a(at);
  add<0>(a, a.size / 2 * 2);
}

}  // namespace heddle::faults
