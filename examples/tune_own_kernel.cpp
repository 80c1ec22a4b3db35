// A kernel of the program's own: defined as text, tuned, stored, and called at sizes that were tuned and at others.
//
//     tune_own_kernel [DEVICE [ROWS COLUMNS [PROFILES]]]
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/runtime/kernel/tuned_kernel.hpp"
#include "heddle/tuner/tune_kernel.hpp"
#include "heddle/tuner/worker/serve.hpp"

namespace {

using heddle::HostImage;
using heddle::Problem;

// sums[c] = sum of m[r][c] over the rows. A thread has one column and adds `unroll` rows at a time.
constexpr const char* kForGpu = R"(
template <int Unroll>
__global__ void column_sums(const float* m, float* sums, int rows, int columns) {
  const int c = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (c >= columns) return;
  float sum[Unroll] = {};
  int r = 0;
  for (; r + Unroll <= rows; r += Unroll) {
    for (int i = 0; i < Unroll; ++i) sum[i] += m[static_cast<long long>(r + i) * columns + c];
  }
  for (; r < rows; ++r) sum[0] += m[static_cast<long long>(r) * columns + c];
  for (int i = 1; i < Unroll; ++i) sum[0] += sum[i];
  sums[c] = sum[0];
}
)";

// On a CPU `parts` threads share the columns, `strip` of them at a time.
constexpr const char* kForCpu = R"(
#include "heddle/kernels/common/cpu_launch.hpp"

template <int Parts, int Strip>
void column_sums(const heddle::cpu::LaunchContext& context, void* const* arguments) {
  const float* const m = static_cast<const float*>(arguments[0]);
  float* const sums = static_cast<float*>(arguments[1]);
  const int rows = *static_cast<const int*>(arguments[2]), columns = *static_cast<const int*>(arguments[3]);
  for (int part = context.thread; part < Parts; part += context.threads) {
    for (int first = part * Strip; first < columns; first += Parts * Strip) {
      const int count = columns - first < Strip ? columns - first : Strip;
      float sum[Strip] = {};
      for (int r = 0; r < rows; ++r) {
        const float* const row = m + static_cast<long long>(r) * columns + first;
        for (int c = 0; c < count; ++c) sum[c] += row[c];
      }
      for (int c = 0; c < count; ++c) sums[first + c] = sum[c];
    }
  }
}
)";

heddle::KernelDefinition column_sums() {
  const auto numbers = [](std::initializer_list<std::int64_t> list) {
    return std::vector<heddle::Value>(list.begin(), list.end());
  };
  heddle::KernelDefinition kernel;
  kernel.name = "column-sums";
  kernel.meaning = "sums of the columns of a matrix";
  kernel.axes = {{.name = "rows"}, {.name = "columns"}};
  kernel.code["cuda"] = {.text = kForGpu,
                         .kernel = "column_sums<{unroll}>",
                         .untuned = "block_size=256 unroll=1",
                         .grid = {"ceil_div(columns, block_size)"},
                         .block = {"block_size"}};
  kernel.code["cpu"] = {
      .text = kForCpu, .kernel = "column_sums<{parts}, {strip}>", .untuned = "parts=1 strip=16", .grid = {"parts"}};
  const std::string on_gpu = "backend != 'cpu'", on_cpu = "backend == 'cpu'";
  kernel.parameters = {{"block_size", numbers({32, 64, 128, 256, 512}), "threads of a block", on_gpu},
                       {"unroll", numbers({1, 2, 4, 8, 16}), "rows that a thread adds at a time", on_gpu},
                       {"parts", numbers({1, 2, 4}), "threads that share the columns", on_cpu},
                       {"strip", numbers({16, 64, 256, 1024}), "columns at a time", on_cpu}};
  kernel.constraints = {"backend != 'cpu' or parts <= units", "backend == 'cpu' or unroll <= rows"};
  kernel.arguments = {{.name = "m", .elements = "rows * columns"},
                      {.name = "sums", .elements = "columns", .role = heddle::Role::output},
                      {.name = "rows", .type = heddle::ElementType::int32, .value = "rows"},
                      {.name = "columns", .type = heddle::ElementType::int32, .value = "columns"}};
  return kernel;
}

std::vector<float> matrix(std::int64_t rows, std::int64_t columns) {
  std::vector<float> m(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < m.size(); ++i) m[i] = static_cast<float>(i * 2654435761U % 1000) / 1000.0F;
  return m;
}

/// How far the sums are from those in float64, as a part of the number of rows.
double error_of(const std::vector<float>& m, const std::vector<float>& sums, std::int64_t rows) {
  double worst = 0.0;
  for (std::size_t c = 0; c < sums.size(); ++c) {
    double expected = 0.0;
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) expected += m[r * sums.size() + c];
    const double error = std::abs(sums[c] - expected) / static_cast<double>(rows);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

constexpr double kTolerance = 1e-5;

heddle::Accuracy check(const heddle::KernelRun& run) {
  const double error = error_of(heddle::values_of<float>(run.before.at("m")),
                                heddle::values_of<float>(run.after.at("sums")), run.problem.at("rows"));
  return {.accepted = error <= kTolerance, .worst_error = error, .message = "wrong sums"};
}

}  // namespace

int main(int argc, char** argv) try {
  // The process that compiles and measures is this program, too.
  if (const auto code = heddle::run_worker(argc, argv)) return *code;

  const std::string label = argc > 1 ? argv[1] : "";
  const std::int64_t rows = argc > 3 ? std::atoll(argv[2]) : 2048, columns = argc > 3 ? std::atoll(argv[3]) : 2048;
  const std::string file = argc > 4 ? argv[4] : "column-sums.sqlite";

  // 1. Tune: once for a device. 5 s for two sizes here; a real kernel with more parameters is worth minutes.
  const heddle::KernelDefinition kernel = column_sums();
  const auto problem = [&](std::int64_t r, std::int64_t c) { return Problem::from(kernel.axes, {r, c}); };
  const auto example = [](const Problem& p) {
    return HostImage{{"m", heddle::image_of(matrix(p.at("rows"), p.at("columns")))}};
  };
  const auto results = heddle::tune(kernel, {problem(rows, columns), problem(8 * rows, columns / 8 + 1)}, example,
                                    check, {.seconds = 5.0, .evaluations = 24}, {.device = label, .profiles = file});
  for (const heddle::TuningResult& result : results) {
    if (!result.profile) continue;
    std::printf("%s: %s, %.3g us; untuned %.3g us\n", result.problem.text().c_str(),
                result.profile->configuration.c_str(), result.profile->time, result.untuned.time.value_or(0.0));
  }

  // 2. Call: in any program that has the definition and the profiles. It needs heddle::runtime alone.
  heddle::FamilyRegistry families = heddle::builtin_families();
  const heddle::KernelFamily& family = families.add(heddle::describe(kernel));
  const heddle::ProfileStore store(file, heddle::ProfileStore::Access::read, families);
  const auto device = heddle::open_device(label);
  const heddle::TunedKernel<const float*, float*, std::int32_t, std::int32_t> sum(*device, family, store.knowledge());

  int right = 0;
  const std::vector<std::pair<std::int64_t, std::int64_t>> calls{
      {rows, columns}, {8 * rows, columns / 8 + 1}, {rows / 2 + 3, columns - 5}, {1, 7}};
  for (const auto& [r, c] : calls) {
    const std::vector<float> m = matrix(r, c);
    std::vector<float> sums(static_cast<std::size_t>(c));
    const auto input = device->allocate(4 * r * c), output = device->allocate(4 * c);
    input->write(std::as_bytes(std::span(m)));
    sum.prepare({r, c});  // otherwise the untuned configuration runs until the tuned one is compiled
    sum({r, c}, static_cast<const float*>(input->pointer()), static_cast<float*>(output->pointer()),
        static_cast<std::int32_t>(r), static_cast<std::int32_t>(c));
    output->read(std::as_writable_bytes(std::span(sums)));  // waits for the launch
    if (error_of(m, sums, r) <= kTolerance) ++right;
    std::printf("\n%s\n", sum.explain({r, c}).text().c_str());
  }
  std::printf("\n%d of %zu sizes right\n", right, calls.size());
  return right == static_cast<int>(calls.size()) ? 0 : 1;
} catch (const heddle::Error& error) {
  std::fprintf(stderr, "tune_own_kernel: %s\n", error.what());
  return static_cast<int>(error.kind());
} catch (const std::exception& error) {
  std::fprintf(stderr, "tune_own_kernel: %s\n", error.what());
  return 1;
}
