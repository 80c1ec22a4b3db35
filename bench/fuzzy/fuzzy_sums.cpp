// How close sums, dot products and matrix-vector products of fuzzy numbers come to a plain copy, which is measured in
// the same run: all of them read more than they compute. One line for each kernel, encoding, type and layout.
//
//   fuzzy_sums --sample 12                 on the best device, the untuned default and 12 other configurations each
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "heddle/bench/common/interleave.hpp"
#include "heddle/bench/common/program.hpp"
#include "heddle/bench/fuzzy/plain_copy.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/fuzzy/matvec_family.hpp"
#include "heddle/kernels/fuzzy/sum_family.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/device_evaluator.hpp"
#include "heddle/tuner/statistics.hpp"

using namespace heddle;
using fuzzy::Encoding;

namespace {

struct Options {
  std::string device;
  std::int64_t numbers = 10'000'000, size = 8192, cuts = 4;
  std::size_t sample = 0;
  int rounds = 7;
  unsigned seed = 1;
};

constexpr int kLaunches = 4;  // in one timed run

/// Median microseconds of a launch for each configuration; infinite where it cannot run.
std::vector<double> times_of(Evaluator& evaluator, const std::vector<Configuration>& configurations,
                             const Problem& problem, int rounds) {
  bench::compile(evaluator, configurations, problem);
  std::vector<double> medians;
  medians.reserve(configurations.size());
  for (const auto& some : bench::interleave(evaluator, configurations, problem, kLaunches, rounds)) {
    medians.push_back(some.empty() ? std::numeric_limits<double>::infinity() : median(some));
  }
  return medians;
}

double copied_bytes_per_microsecond(Device& device, const Options& options) {
  constexpr std::int64_t kPackets = 40'000'000;
  FamilyRegistry families = builtin_families();
  const KernelFamily& copy = families.add(describe(bench::copy_definition(kPackets)));
  const Problem problem = copy.default_problems(device.identity()).front();
  DeviceEvaluator evaluator(device, copy, options.seed);
  const Configuration only = copy.default_configuration(device.identity(), problem);
  return 32.0 * static_cast<double>(kPackets) / times_of(evaluator, {only}, problem, options.rounds).front();
}

void line(Device& device, const KernelFamily& family, const Problem& problem, double bytes_per_microsecond,
          const Options& options) {
  DeviceEvaluator evaluator(device, family, options.seed);
  std::vector<Configuration> others = family.space(device.identity()).enumerate(problem);
  std::shuffle(others.begin(), others.end(), std::mt19937(options.seed));
  others.resize(std::min(others.size(), options.sample));
  std::vector<Configuration> all{family.default_configuration(device.identity(), problem)};
  all.insert(all.end(), others.begin(), others.end());
  const std::vector<double> times = times_of(evaluator, all, problem, options.rounds);
  const auto best = std::ranges::min_element(times);
  const double floor = family.work(problem).bytes / bytes_per_microsecond;
  fmt::print("{},{},{:.1f},{:.1f},{:.1f},{:.1f},{}\n", family.name(), problem.text(), times.front(), *best,
             100.0 * floor / times.front(), 100.0 * floor / *best,
             all[static_cast<std::size_t>(best - times.begin())].text());
  std::fflush(stdout);
}

void print_table(Device& device, const Options& options) {
  const double rate = copied_bytes_per_microsecond(device, options);
  fmt::print("# {}: copy {:.0f} GB/s\n", device.identity().name, rate * 1e-3);
  fmt::print("family,problem,untuned_us,best_us,untuned_percent_of_copy,best_percent_of_copy,best\n");
  for (const Encoding encoding : {Encoding::lower_upper, Encoding::midpoint_radius}) {
    for (const std::int64_t bits : {64, 32}) {
      for (const std::int64_t layout : {1, 2}) {
        for (const KernelFamily* family : {&fuzzy::sum_family(encoding), &fuzzy::dot_family(encoding)}) {
          line(device, *family, Problem::from(family->axes(), {options.numbers, options.cuts, bits, layout}), rate,
               options);
        }
        const KernelFamily& matvec = fuzzy::matvec_family(encoding);
        // A fuzzy matrix of fewer rows, since it has several numbers in place of one.
        line(device, matvec, Problem::from(matvec.axes(), {options.size, options.size, 1, options.cuts, bits, layout}),
             rate, options);
        line(device, matvec,
             Problem::from(matvec.axes(), {options.size / 4, options.size, 2, options.cuts, bits, layout}), rate,
             options);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Sums, dot products and matrix-vector products of fuzzy numbers beside a copy");
  app.add_option("--device", options.device, "cuda:N; the best one if left out");
  app.add_option("--numbers", options.numbers, "in each array of a sum or dot product");
  app.add_option("--size", options.size, "rows and columns of a matrix of real numbers");
  app.add_option("--cuts", options.cuts);
  app.add_option("--sample", options.sample, "configurations to draw beside the untuned one");
  app.add_option("--rounds", options.rounds, "runs of which the median is told");
  app.add_option("--seed", options.seed);
  CLI11_PARSE(app, argc, argv);
  return bench::exit_code("fuzzy_sums", [&] {
    const auto device = open_device(options.device);
    if (device->identity().backend != "cuda") {
      throw Error(ErrorKind::usage, "option --device: the limit is that of a GPU, expected cuda:N");
    }
    print_table(*device, options);
    return 0;
  });
}
