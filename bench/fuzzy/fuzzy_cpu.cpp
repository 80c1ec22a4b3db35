// The series c = a c + b of fuzzy numbers with 4 cuts in double: heddle's CPU kernels in both encodings, and one thread
// of Boost.Interval beside them.
//
//   fuzzy_cpu [THREADS [PROFILES]]
//
// Prints a line for each, and for each instruction set of this processor on one thread: millions of steps of a cut in a
// second, and how many times as fast as Boost.Interval. The bounds of heddle's lower-upper series and of
// Boost.Interval's have to be the same. skfuzzy_series.py does the same steps in Python.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/bench/fuzzy/boost_series.hpp"
#include "heddle/kernels/common/cpu_builtin.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/fuzzy/cpu_space.hpp"
#include "heddle/kernels/fuzzy/series_family.hpp"
#include "heddle/profiles/profile_store.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/device/device_failure.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"

namespace heddle::bench {
namespace {

constexpr std::int64_t kNumbers = 20'000, kSeriesCuts = 4, kTerms = 500;
constexpr int kRuns = 7;
constexpr double kSteps = static_cast<double>(kNumbers * kSeriesCuts * kTerms);

/// The numbers "a", "b" or "c", in the order of the layout.
std::vector<double> reals_of(const HostImage& image, std::string_view name) {
  const std::vector<std::byte>& bytes = image.find(name)->second;
  std::vector<double> reals(bytes.size() / sizeof(double));
  std::memcpy(reals.data(), bytes.data(), bytes.size());
  return reals;
}

struct Series {
  double seconds = std::numeric_limits<double>::infinity();  ///< of the fastest run
  std::vector<double> result;
  std::string configuration;
};

/// Of `threads` threads, where a configuration has that choice.
Series run_heddle(Device& device, const KernelFamily& family, const Problem& problem, const ProfileStore& store,
                  std::string_view threads) {
  const Dispatcher dispatcher(device.identity(), family, store.knowledge(std::string(family.name())));
  Configuration configuration = dispatcher.choose(problem).configuration;
  if (!threads.empty()) {
    std::string text = configuration.text();
    const std::size_t at = text.find("threads=");
    if (at != std::string::npos) text.replace(at, text.find(' ', at) - at, fmt::format("threads={}", threads));
    configuration = family.space(device.identity()).parse(text);
  }
  const Trial trial = family.trial(configuration, problem, device.identity(), 1, 5);
  const CompileOutcome code = compile_one(device, {&family.source(device.identity().backend), trial.plan.kernels});
  if (!code.binary) throw DeviceFailure(Status::compilation, first_complaint(code.log));
  const auto execution = device.prepare(trial.plan, code.binary);
  for (const auto& [name, bytes] : *trial.initial) execution->memory(name).write(bytes);
  Series series;
  series.configuration = configuration.text();
  for (int run = 0; run < kRuns; ++run) series.seconds = std::min(series.seconds, execution->time());
  std::vector<std::byte> bytes(static_cast<std::size_t>(execution->memory("result").bytes()));
  execution->memory("result").read(bytes);
  series.result = reals_of({{"result", bytes}}, "result");
  return series;
}

Series run_boost(const KernelFamily& family, const Problem& problem, const Device& device) {
  const Configuration any = family.default_configuration(device.identity(), problem);
  const SharedImage contents = family.trial(any, problem, device.identity(), 1, 5).initial;
  const std::vector<double> a = reals_of(*contents, "a"), b = reals_of(*contents, "b"), c = reals_of(*contents, "c");
  Series series;
  for (int run = 0; run < kRuns; ++run) {
    series.result = c;
    series.seconds = std::min(series.seconds, seconds_of([&] { boost_series(a, b, series.result, kTerms); }));
  }
  return series;
}

/// Of one thread, by the kernel in the binary for an instruction set.
double seconds_of_builtin(fuzzy::Encoding encoding, const Problem& problem, const HostImage& contents,
                          std::string_view architecture) {
  const fuzzy::ArrayShape shape = fuzzy::shape_of(problem, encoding, kNumbers);
  const std::string expression = fmt::format("heddle::fuzzy::cpu::series_{}<{}, 256>", fuzzy::suffix(encoding),
                                             fuzzy::floats_in_vector(architecture));
  HostImage inputs = contents;
  std::vector<std::byte> result(static_cast<std::size_t>(shape.bytes()));
  fuzzy::ArrayForm form = shape.form();
  int terms = kTerms;
  std::array<void*, 6> arguments{
      inputs.at("a").data(), inputs.at("b").data(), inputs.at("c").data(), result.data(), &form, &terms};
  double seconds = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    seconds = std::min(seconds, seconds_of([&] {
                         cpu::builtin_kernel(expression, architecture)(
                             {.thread = 0, .threads = 1, .arrivals = nullptr, .wait = nullptr, .wake = nullptr},
                             arguments.data());
                       }));
  }
  return seconds;
}

int measure(int count, char** words) {
  if (count > 3) throw Error(ErrorKind::usage, "usage: fuzzy_cpu [THREADS [PROFILES]]");
  const auto device = open_device("cpu");
  const ProfileStore store(count > 2 ? words[2] : ":memory:",
                           count > 2 ? ProfileStore::Access::read : ProfileStore::Access::read_write);
  const std::string_view threads = count > 1 ? words[1] : "";
  const auto problem_of = [](const KernelFamily& family) {
    return Problem::from(family.axes(), {kNumbers, kTerms, kSeriesCuts, 64, fuzzy::kNumbers});
  };
  const KernelFamily& bounds = fuzzy::series_family(fuzzy::Encoding::lower_upper);
  const Series boost = run_boost(bounds, problem_of(bounds), *device);
  fmt::print("{}: {} numbers of {} cuts in double, {} terms\n", device->identity().name, kNumbers, kSeriesCuts, kTerms);
  fmt::print("{:<20} {:>9.1f} million steps of a cut in a second\n", "Boost.Interval", 1e-6 * kSteps / boost.seconds);
  for (const fuzzy::Encoding encoding : {fuzzy::Encoding::lower_upper, fuzzy::Encoding::midpoint_radius}) {
    const KernelFamily& family = fuzzy::series_family(encoding);
    const Series series = run_heddle(*device, family, problem_of(family), store, threads);
    fmt::print("{:<20} {:>9.1f} million steps, {:.2f} times as many; {}\n", family.name(),
               1e-6 * kSteps / series.seconds, boost.seconds / series.seconds, series.configuration);
    if (encoding == fuzzy::Encoding::lower_upper && series.result != boost.result) {
      throw DeviceFailure(Status::wrong_result, "the bounds are not those of Boost.Interval");
    }
    const Problem problem = problem_of(family);
    const SharedImage contents =
        family.trial(family.default_configuration(device->identity(), problem), problem, device->identity(), 1, 5)
            .initial;
    for (const std::string_view architecture : cpu::built_architectures()) {
      const double seconds = seconds_of_builtin(encoding, problem, *contents, architecture);
      fmt::print("  {:<18} {:>9.1f} million steps on one thread, {:.2f} times as many\n", architecture,
                 1e-6 * kSteps / seconds, boost.seconds / seconds);
    }
  }
  return 0;
}

}  // namespace
}  // namespace heddle::bench

int main(int count, char** words) {
  return heddle::bench::exit_code("fuzzy_cpu", [&] { return heddle::bench::measure(count, words); });
}
