// How close fuzzy-map comes to a plain copy, and fuzzy-series to the arithmetic pipe; both limits are measured in the
// same run. One line for each encoding, type, layout and number of cuts.
//
//   fuzzy_table --sample 12                 on the best device, the untuned default and 12 other configurations each
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/bench/common/program.hpp"
#include "heddle/bench/fuzzy/plain_copy.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/fuzzy/map.hpp"
#include "heddle/kernels/fuzzy/series_family.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/statistics.hpp"

using namespace heddle;
using fuzzy::Encoding;

namespace {

struct Options {
  std::string device, formula = "a*b + c", only;
  std::int64_t numbers = 10'000'000, terms = 1000, cut_steps = 12'000'000;
  std::size_t sample = 0;
  int rounds = 7;
  unsigned seed = 1;
};

constexpr int kLaunches = 4;  // in one timed run

constexpr std::int64_t kPipeRounds = 4096, kPipeOfRound = 16;

/// Products that are rounded downwards, of which none waits for another one.
KernelDefinition pipe_definition(std::int64_t threads) {
  KernelDefinition kernel;
  kernel.name = "arithmetic-pipe";
  kernel.axes = {{.name = "threads"}, {.name = "bits", .maximum = 64, .spacing = Spacing::equal, .values = {32, 64}}};
  kernel.problems = {Problem::from(kernel.axes, {threads, 32}), Problem::from(kernel.axes, {threads, 64})};
  kernel.parameters = {{.name = "block_size", .values = {std::int64_t{256}}}};
  kernel.arguments = {{.name = "result", .type = ElementType::float64, .elements = "threads", .role = Role::output},
                      {.name = "threads", .type = ElementType::int64, .value = "threads"},
                      {.name = "rounds", .type = ElementType::int32, .value = std::to_string(kPipeRounds)}};
  kernel.code["cuda"] = {.text = R"(
__device__ float down(float a, float b) { return __fmul_rd(a, b); }
__device__ double down(double a, double b) { return __dmul_rd(a, b); }
template <int bits> struct Real { typedef double type; };
template <> struct Real<32> { typedef float type; };
template <int bits, int block>
__global__ void pipe(double* result, long long threads, int rounds) {
  typedef typename Real<bits>::type T;
  const long long i = static_cast<long long>(blockIdx.x) * block + threadIdx.x;
  T x[16];
  const T factor = T(1) - T(1e-6) * T(threadIdx.x + 1);
#pragma unroll
  for (int k = 0; k < 16; ++k) x[k] = T(1 + k);
#pragma unroll 4
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < 16; ++k) x[k] = down(x[k], factor);
  }
  T sum = T(0);
#pragma unroll
  for (int k = 0; k < 16; ++k) sum += x[k];
  if (i < threads) result[i] = sum;
})",
                         .kernel = "pipe<{bits}, {block_size}>",
                         .grid = {"(threads + block_size - 1) // block_size"},
                         .block = {"block_size"}};
  return kernel;
}

/// Median microseconds of a launch.
double time_of(Evaluator& evaluator, const Configuration& configuration, const Problem& problem, int rounds) {
  bench::compile(evaluator, {configuration}, problem);
  const auto times = bench::interleave(evaluator, {configuration}, problem, kLaunches, rounds);
  if (times.front().empty()) throw Error(ErrorKind::device, "what a kernel is compared with cannot run");
  return median(times.front());
}

class Table {
 public:
  Table(Device& device, Options options) : device_(device), options_(std::move(options)) {}

  void print() {
    measure_limits();
    fmt::print("kernel,encoding,bits,layout,cuts,untuned_us,best_us,limit,untuned_percent,best_percent,best\n");
    for (const auto encoding : {Encoding::lower_upper, Encoding::midpoint_radius}) {
      FamilyRegistry families = builtin_families();
      const KernelFamily& map = families.add(fuzzy::describe_map(fuzzy::Formula(options_.formula), encoding));
      const KernelFamily& series = fuzzy::series_family(encoding);
      for (const std::int64_t bits : {64, 32}) {
        for (const std::int64_t layout : {1, 2}) {
          if (options_.only == "series") continue;
          const Problem problem = Problem::from(map.axes(), {options_.numbers, 4, bits, layout});
          // Microseconds that a copy of as many bytes takes.
          line(map, encoding, problem, "copy", map.work(problem).bytes / bytes_per_microsecond_);
        }
        for (const std::int64_t cuts : {1, 2, 4, 8, 12, 16, 20, 24}) {
          if (options_.only == "map") continue;
          const Problem problem =
              Problem::from(series.axes(), {options_.cut_steps / cuts, options_.terms, cuts, bits, 1});
          line(series, encoding, problem, "pipe", series.work(problem).operations / operations_[bits]);
        }
      }
    }
  }

 private:
  void measure_limits() {
    constexpr std::int64_t kPackets = 40'000'000;
    FamilyRegistry families = builtin_families();
    const KernelFamily& copy = families.add(describe(bench::copy_definition(kPackets)));
    const DeviceIdentity& device = device_.identity();
    const std::int64_t threads = device.units * 2048 * 4;
    const KernelFamily& pipe = families.add(describe(pipe_definition(threads)));
    const auto measure = [&](const KernelFamily& family, const Problem& problem) {
      DeviceEvaluator evaluator(device_, family, options_.seed);
      return time_of(evaluator, family.default_configuration(device, problem), problem, options_.rounds);
    };
    bytes_per_microsecond_ =
        32.0 * static_cast<double>(kPackets) / measure(copy, copy.default_problems(device).front());
    fmt::print("# {}: copy {:.0f} GB/s\n", device.name, bytes_per_microsecond_ * 1e-3);
    for (const Problem& problem : pipe.default_problems(device)) {
      const double all = static_cast<double>(threads * kPipeRounds * kPipeOfRound);
      operations_[problem.at("bits")] = all / measure(pipe, problem);
      fmt::print("# pipe of {} bits: {:.3f} 10^12 rounded operations/s\n", problem.at("bits"),
                 operations_[problem.at("bits")] * 1e-6);
    }
  }

  void line(const KernelFamily& family, Encoding encoding, const Problem& problem, const char* limit, double floor) {
    const DeviceIdentity& device = device_.identity();
    DeviceEvaluator evaluator(device_, family, options_.seed);
    std::vector<Configuration> all{family.default_configuration(device, problem)};
    std::vector<Configuration> others = family.space(device).enumerate(problem);
    std::shuffle(others.begin(), others.end(), std::mt19937(options_.seed));
    others.resize(std::min(others.size(), options_.sample));
    all.insert(all.end(), others.begin(), others.end());
    bench::compile(evaluator, all, problem);
    const auto times = bench::interleave(evaluator, all, problem, kLaunches, options_.rounds);
    std::size_t best = 0;
    std::vector<double> medians;
    medians.reserve(all.size());
    for (const auto& some : times) {
      medians.push_back(some.empty() ? 1e30 : median(some));
      if (medians.back() < medians[best]) best = medians.size() - 1;
    }
    fmt::print("{},{},{},{},{},{:.1f},{:.1f},{},{:.1f},{:.1f},{}\n", limit == std::string("copy") ? "map" : "series",
               fuzzy::suffix(encoding), problem.at("bits"), problem.at("layout"), problem.at("cuts"), medians.front(),
               medians[best], limit, 100.0 * floor / medians.front(), 100.0 * floor / medians[best], all[best].text());
    std::fflush(stdout);
  }

  Device& device_;
  Options options_;
  double bytes_per_microsecond_ = 0.0;
  std::map<std::int64_t, double> operations_;  ///< a microsecond, by bits
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("fuzzy-map beside a copy, fuzzy-series beside the pipe of the device");
  app.add_option("--device", options.device, "cuda:N; the best one if left out");
  app.add_option("--formula", options.formula, "of fuzzy-map");
  app.add_option("--only", options.only, "map or series")->check(CLI::IsMember({"map", "series"}));
  app.add_option("--numbers", options.numbers, "in each array of fuzzy-map");
  app.add_option("--terms", options.terms, "of a series");
  app.add_option("--cuts-in-all", options.cut_steps, "numbers times cuts of a series");
  app.add_option("--sample", options.sample, "configurations to draw beside the untuned one");
  app.add_option("--rounds", options.rounds, "runs of which the median is told");
  app.add_option("--seed", options.seed);
  CLI11_PARSE(app, argc, argv);
  return bench::exit_code("fuzzy_table", [&] {
    const auto device = open_device(options.device);
    if (device->identity().backend != "cuda") {
      throw Error(ErrorKind::usage, "option --device: the limits are those of a GPU, expected cuda:N");
    }
    Table(*device, options).print();
    return 0;
  });
}
