// A call that is captured into a file, tuned by `heddle tune --capture FILE` wherever there is such a device, and made
// again with the profiles that were found.
//
//     capture_call DEVICE FILE              writes the call
//     capture_call DEVICE FILE PROFILES     makes it, and says which configuration ran
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/kernel/tuned_kernel.hpp"

namespace {

// y[i] += scale x[index[i]]: an index that somebody makes up would read behind x.
constexpr const char* kSource = R"(
template <int BlockSize, int Items>
__global__ void gather(float scale, const float* x, const int* index, float* y, int n) {
  const int first = static_cast<int>(blockIdx.x) * BlockSize * Items + static_cast<int>(threadIdx.x);
  for (int item = 0; item < Items; ++item) {
    const int i = first + item * BlockSize;
    if (i < n) y[i] += scale * x[index[i]];
  }
}
)";

heddle::KernelDefinition gather() {
  heddle::KernelDefinition kernel;
  kernel.name = "examples/gather";
  kernel.meaning = "adds scaled elements that an index names";
  kernel.axes = {{.name = "n", .maximum = 1 << 28}};
  kernel.code["cuda"] = {.text = kSource,
                         .kernel = "gather<{block_size}, {items}>",
                         .untuned = "block_size=32 items=1",
                         .grid = {"ceil_div(n, block_size * items)"},
                         .block = {"block_size"}};
  const auto numbers = [](std::initializer_list<std::int64_t> list) {
    return std::vector<heddle::Value>(list.begin(), list.end());
  };
  kernel.parameters = {{.name = "block_size", .values = numbers({32, 64, 128, 256, 512}), .meaning = "threads"},
                       {.name = "items", .values = numbers({1, 2, 4, 8}), .meaning = "elements of a thread"}};
  kernel.constraints = {"block_size * items <= 2048"};
  kernel.arguments = {{.name = "scale", .value = "1"},
                      {.name = "x", .elements = "n"},
                      {.name = "index", .type = heddle::ElementType::int32, .elements = "n"},
                      {.name = "y", .elements = "n", .role = heddle::Role::state},
                      {.name = "n", .type = heddle::ElementType::int32, .value = "n"}};
  return kernel;
}

template <class T>
std::shared_ptr<heddle::Memory> copied(heddle::Device& device, const std::vector<T>& values) {
  auto memory = device.allocate(static_cast<std::int64_t>(values.size() * sizeof(T)));
  memory->write(std::as_bytes(std::span(values)));
  return memory;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fprintf(stderr, "usage: capture_call DEVICE FILE [PROFILES]\n");
    return 2;
  }
  const auto device = heddle::open_device(argv[1]);
  const bool on_gpu = device->identity().backend == "cuda";
  const std::int64_t n = on_gpu ? 1 << 24 : 1000;
  const auto count = static_cast<std::size_t>(n);
  std::vector<float> x(count), y(count, 0.5F);
  std::vector<std::int32_t> index(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>(i % 1000);
    index[i] = static_cast<std::int32_t>((i * 7919) % count);
  }
  const auto x_there = copied(*device, x), y_there = copied(*device, y);
  const auto index_there = copied(*device, index);
  const float scale = 0.25F;
  const auto* const px = static_cast<const float*>(x_there->pointer());
  const auto* const pi = static_cast<const std::int32_t*>(index_there->pointer());
  auto* const py = static_cast<float*>(y_there->pointer());

  heddle::FamilyRegistry families = heddle::builtin_families();
  const heddle::KernelFamily& family = families.add(heddle::describe(gather()));
  const heddle::Problem problem = heddle::Problem::from(family.axes(), {n});
  using Gather = heddle::TunedKernel<float, const float*, const std::int32_t*, float*, std::int32_t>;

  if (argc == 3) {
    const Gather kernel(*device, family, {});
    if (on_gpu) {  // the driver knows how long they are
      kernel.capture(problem, {}, argv[2], scale, px, pi, py, static_cast<std::int32_t>(n));
    } else {
      kernel.capture(problem, {}, argv[2], scale, std::span(px, count), std::span(pi, count), std::span(py, count),
                     static_cast<std::int32_t>(n));
    }
    std::printf("captured %s\n", problem.text().c_str());
    return 0;
  }

  const heddle::ProfileStore store(argv[3], heddle::ProfileStore::Access::read, families);
  const Gather kernel(*device, family, store.knowledge(), {.wait = true});
  kernel(problem, scale, px, pi, py, static_cast<std::int32_t>(n));
  y_there->read(std::as_writable_bytes(std::span(y)));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (y[i] != 0.5F + scale * x[static_cast<std::size_t>(index[i])]) ++wrong;
  }
  std::printf("%s\n%zu of %zu wrong\n", kernel.explain(problem).text().c_str(), wrong, count);
  return wrong == 0 ? 0 : 1;
} catch (const heddle::Error& error) {
  std::fprintf(stderr, "capture_call: %s\n", error.what());
  return static_cast<int>(error.kind());
} catch (const std::exception& error) {
  std::fprintf(stderr, "capture_call: %s\n", error.what());
  return 1;
}
