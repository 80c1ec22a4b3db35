// Every kernel of fuzzy numbers on a GPU, for numbers of some cuts in both encodings, types and layouts: untuned,
// tuned, and with the single configuration that is best for all problems of its family. Beside each time is that which
// a plain copy of the same bytes takes, or the arithmetic pipe for the same operations, whichever is longer; both are
// measured in the same run. Comma-separated values on standard output; geometric means follow on lines that begin with
// '#'.
//
//   fuzzy_table --seconds 85                            on the best device, 16 and 16 configurations for each problem
//   fuzzy_table --only matvec --sample 0                untuned alone, one kernel
//   fuzzy_table --only series --encoding lu             one family: gpu_evidence measures one after the other
//   fuzzy_table --device cpu --tiny                     whether all of it works, in sizes that say nothing
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/bench/common/program.hpp"
#include "heddle/bench/common/stopwatch.hpp"
#include "heddle/bench/fuzzy/origin.hpp"
#include "heddle/bench/fuzzy/plain_limits.hpp"
#include "heddle/bench/fuzzy/three_ways.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/fuzzy/map.hpp"
#include "heddle/kernels/fuzzy/matvec_family.hpp"
#include "heddle/kernels/fuzzy/series_family.hpp"
#include "heddle/kernels/fuzzy/sort.hpp"
#include "heddle/kernels/fuzzy/sum_family.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/tuner/device_evaluator.hpp"

using namespace heddle;
using bench::ThreeWays;
using fuzzy::Encoding;

namespace {

struct Options {
  std::string device, formula = "a*b + c";
  std::vector<std::string> only, also;
  std::vector<std::int64_t> cuts;
  std::optional<Encoding> encoding;
  bench::LimitSizes limits;
  bool tiny = false;
  std::int64_t numbers = 10'000'000, size = 8192, terms = 2000, cuts_of_series = 4'000'000;
  double seconds = std::numeric_limits<double>::infinity();
  std::size_t sample = 16;
  int rounds = 7;
  unsigned seed = 1;
};

constexpr std::int64_t kCuts = 4;  // of the problems of full size

/// A family with its problems, of which all together are tuned with one fixed configuration.
struct Part {
  std::string kernel;
  Encoding encoding;
  const KernelFamily* family;
  std::vector<Problem> problems;
  std::int64_t launches = 4;  ///< in one timed run
};

/// Calls `make` with the bits and layout of each form, and with cuts and with the numbers to have so many cuts.
template <class Make>
std::vector<Problem> over_forms(std::int64_t numbers, const Make& make) {
  constexpr std::int64_t kSmaller = 4;  // so that filling arrays at the host does not take most of the time
  constexpr std::int64_t kWidest = 16;  // a vector of any width divides the numbers
  std::vector<Problem> problems;
  for (const std::int64_t bits : {64, 32}) {
    for (const std::int64_t layout : {1, 2}) {
      for (const std::int64_t cuts : {kCuts, std::int64_t{1}, std::int64_t{12}}) {
        problems.push_back(
            make(cuts == kCuts ? numbers : numbers * kCuts / cuts / kSmaller / kWidest * kWidest, cuts, bits, layout));
      }
    }
  }
  return problems;
}

std::vector<Problem> series_problems(const KernelFamily& family, const Options& options) {
  std::vector<Problem> problems;
  for (const std::int64_t bits : {64, 32}) {
    for (const std::int64_t cuts : {1, 2, 4, 8, 12, 16, 20, 24}) {
      problems.push_back(Problem::from(family.axes(), {options.cuts_of_series / cuts, options.terms, cuts, bits, 1}));
    }
  }
  return problems;
}

std::vector<Problem> matvec_problems(const KernelFamily& family, const Options& options) {
  const auto wanted = [&](std::string_view kind) {
    return options.only.empty() ||
           std::ranges::any_of(options.only, [&](const std::string& name) { return name == "matvec" || name == kind; });
  };
  const bool crisp = wanted("crisp-matvec"), fuzzy = wanted("fuzzy-matvec");
  constexpr std::int64_t kFuzzyRows = 4;  // a fuzzy matrix has fewer rows, since its elements are larger
  std::vector<Problem> problems;
  for (const std::int64_t bits : {64, 32}) {
    for (const std::int64_t layout : {1, 2}) {
      const auto add = [&](std::int64_t rows, std::int64_t matrix, std::int64_t cuts) {
        problems.push_back(
            Problem::from(family.axes(), {std::max<std::int64_t>(rows, 1), options.size, matrix, cuts, bits, layout}));
      };
      for (const std::int64_t cuts : {kCuts, std::int64_t{1}, std::int64_t{12}}) {
        if (crisp) add(cuts == kCuts ? options.size : options.size / kFuzzyRows, 1, cuts);
      }
      for (const std::int64_t cuts : {kCuts, std::int64_t{1}}) {
        if (fuzzy) add(options.size / kFuzzyRows, 2, cuts);
      }
    }
  }
  return problems;
}

std::vector<Part> parts(FamilyRegistry& families, const Options& options) {
  std::vector<Part> all;
  const auto wanted = [&](std::string_view kernel) {
    return options.only.empty() || std::ranges::find(options.only, kernel) != options.only.end();
  };
  const auto arrays = [&](const char* kernel, Encoding encoding, const KernelFamily& family) {
    if (!wanted(kernel)) return;
    all.push_back(
        {.kernel = kernel,
         .encoding = encoding,
         .family = &family,
         .problems = over_forms(options.numbers, [&](std::int64_t numbers, auto cuts, auto bits, auto layout) {
           return Problem::from(family.axes(), {std::max<std::int64_t>(numbers, 1), cuts, bits, layout});
         })});
  };
  for (const Encoding encoding : {Encoding::lower_upper, Encoding::midpoint_radius}) {
    if (options.encoding && *options.encoding != encoding) continue;
    const KernelFamily& series = fuzzy::series_family(encoding);
    const KernelFamily& matvec = fuzzy::matvec_family(encoding);
    if (wanted("series")) {
      all.push_back({.kernel = "series",
                     .encoding = encoding,
                     .family = &series,
                     .problems = series_problems(series, options),
                     .launches = 1});
    }
    arrays("map", encoding, families.add(fuzzy::describe_map(fuzzy::Formula(options.formula), encoding)));
    arrays("sum", encoding, fuzzy::sum_family(encoding));
    arrays("dot", encoding, fuzzy::dot_family(encoding));
    if (wanted("matvec") || wanted("crisp-matvec") || wanted("fuzzy-matvec")) {
      all.push_back(
          {.kernel = "matvec", .encoding = encoding, .family = &matvec, .problems = matvec_problems(matvec, options)});
    }
    arrays("sort", encoding, fuzzy::sort_family(encoding));
  }
  if (!options.cuts.empty()) {
    for (Part& part : all) {
      std::erase_if(part.problems, [&](const Problem& problem) {
        return std::ranges::find(options.cuts, problem.at("cuts")) == options.cuts.end();
      });
    }
    std::erase_if(all, [](const Part& part) { return part.problems.empty(); });
  }
  return all;
}

/// Of untuned and fixed times over tuned ones.
struct Means {
  double untuned = 0.0, fixed = 0.0;  ///< sums of logarithms
  std::size_t problems = 0, with_fixed = 0;

  void add(const ThreeWays& of) {
    untuned += std::log(of.untuned.microseconds / of.tuned.microseconds);
    ++problems;
    if (!of.fixed) return;
    fixed += std::log(of.fixed->microseconds / of.tuned.microseconds);
    ++with_fixed;
  }
  void add(const Means& other) {
    untuned += other.untuned;
    fixed += other.fixed;
    problems += other.problems;
    with_fixed += other.with_fixed;
  }
  void print(std::string_view of) const {
    fmt::print("# {}: geometric mean over {} problems: untuned {:.3f} times the tuned time, fixed {}\n", of, problems,
               std::exp(untuned / static_cast<double>(problems)),
               with_fixed == problems ? fmt::format("{:.3f} times", std::exp(fixed / static_cast<double>(with_fixed)))
                                      : fmt::format("not known for {} of them", problems - with_fixed));
  }
};

void print_line(const Part& part, const ThreeWays& of, const bench::PlainLimits& limits) {
  const Problem& problem = of.problem;
  const std::string kernel = part.kernel != "matvec"     ? part.kernel
                             : problem.at("matrix") == 1 ? "crisp matvec"
                                                         : "fuzzy matvec";
  const auto floor = limits.floor_of(part.family->work(problem), problem.at("bits"));
  fmt::print("{},{},{},{},{},{},{:.2f},{},{:.2f},{},{:.2f},{},{},{},{},{}\n", kernel, fuzzy::suffix(part.encoding),
             problem.at("bits"), problem.at("layout"), problem.at("cuts"), problem.text(), of.untuned.microseconds,
             of.fixed ? fmt::format("{:.2f}", of.fixed->microseconds) : "", of.tuned.microseconds,
             floor.of_copy ? "copy" : "pipe", floor.microseconds, of.tried, of.valid, of.untuned.configuration.text(),
             of.fixed ? of.fixed->configuration.text() : "", of.tuned.configuration.text());
}

/// Sizes with which all of it takes seconds on a CPU.
void make_tiny(Options& options) {
  options.numbers = 4096;
  options.size = 64;
  options.terms = 20;
  options.cuts_of_series = 4800;
  options.sample = std::min<std::size_t>(options.sample, 2);
  options.rounds = std::min(options.rounds, 3);
  options.limits = {.packets = 100'000, .threads = 64, .rounds = 1024};
}

void print_table(Device& device, const Options& options) {
  const bench::Stopwatch watch;
  FamilyRegistry families = builtin_families();
  const std::vector<Part> all = parts(families, options);
  bench::print_origin(device);
  for (const Part& part : all) bench::print_kernels(*part.family, device.identity());
  const bench::PlainLimits limits = bench::measure_limits(device, options.rounds, options.seed, options.limits);
  fmt::print("# copy {:.0f} GB/s, pipe {:.3f} (float) and {:.3f} (double) 10^12 rounded operations/s\n",
             limits.copied * 1e-3, limits.operations.at(32) * 1e-6, limits.operations.at(64) * 1e-6);
  fmt::print(
      "kernel,encoding,bits,layout,cuts,problem,untuned_us,fixed_us,tuned_us,limit,limit_us,tried,valid,untuned,fixed,"
      "tuned\n");
  std::size_t problems = 0, before = 0;
  for (const Part& part : all) problems += part.problems.size();
  const double begin = watch.seconds(), each = (options.seconds - begin) / static_cast<double>(problems);
  Means means;
  std::vector<Means> of_parts;
  for (const Part& part : all) {
    bench::ThreeWaysOptions ways{.sample = options.sample,
                                 .also = options.also,
                                 .launches = part.launches,
                                 .rounds = options.rounds,
                                 .seed = options.seed};
    // The last comparison, for which arrays are on the device, takes the rest.
    constexpr double kForTrying = 0.75;
    ways.late = [&](std::size_t i) {
      return watch.seconds() > begin + each * (static_cast<double>(before) + kForTrying * static_cast<double>(i + 1));
    };
    DeviceEvaluator evaluator(device, *part.family, options.seed);
    Means own;
    for (const ThreeWays& of : bench::compare_three_ways(evaluator, part.problems, ways)) {
      print_line(part, of, limits);
      own.add(of);
    }
    std::fflush(stdout);
    before += part.problems.size();
    means.add(own);
    of_parts.push_back(own);
  }
  for (std::size_t i = 0; i < all.size(); ++i) of_parts[i].print(all[i].family->name());
  means.print("all");
  fmt::print("# {:.1f} s\n", watch.seconds());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Kernels of fuzzy numbers beside a copy and the arithmetic pipe: untuned, fixed and tuned");
  app.add_option("--device", options.device, "cuda:N; the best one if left out");
  app.add_option("--formula", options.formula, "of fuzzy-map");
  app.add_option("--only", options.only,
                 "series, map, sum, dot, matvec or one of crisp-matvec and fuzzy-matvec, sort; several")
      ->delimiter(',')
      ->check(CLI::IsMember({"series", "map", "sum", "dot", "matvec", "crisp-matvec", "fuzzy-matvec", "sort"}));
  app.add_option_function<std::string>(
         "--encoding", [&](const std::string& text) { options.encoding = fuzzy::encoding_of(text); }, "this one alone")
      ->check(CLI::IsMember({"lu", "mr"}));
  app.add_flag("--tiny", options.tiny, "sizes that say nothing, to see that it works; on any device");
  app.add_option("--cuts", options.cuts, "leave out problems of other cuts; several")->delimiter(',');
  app.add_option("--numbers", options.numbers, "in each array of 4 cuts")->check(CLI::PositiveNumber);
  app.add_option("--size", options.size, "columns of a matrix, and rows of a real one of 4 cuts")
      ->check(CLI::PositiveNumber);
  app.add_option("--terms", options.terms, "of a series")->check(CLI::PositiveNumber);
  app.add_option("--cuts-of-series", options.cuts_of_series, "numbers times cuts")->check(CLI::Range(24, 1 << 30));
  app.add_option("--seconds", options.seconds,
                 "after which no further configuration is tried but the first eight of a problem")
      ->check(CLI::PositiveNumber);
  app.add_option("--sample", options.sample,
                 "configurations to draw, beside the untuned ones, of those that are valid "
                 "for all problems of a family, and as many for each");
  app.add_option("--also", options.also, "configurations to try as well, as the table has them; several")
      ->delimiter(',');
  app.add_option("--rounds", options.rounds, "of the last comparison, whose medians are told")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed);
  CLI11_PARSE(app, argc, argv);
  return bench::exit_code("fuzzy_table", [&] {
    const auto device = open_device(options.device);
    if (options.tiny) {
      make_tiny(options);
    } else if (device->identity().backend != "cuda") {
      throw Error(ErrorKind::usage, "option --device: the limits are those of a GPU, expected cuda:N");
    }
    print_table(*device, options);
    return 0;
  });
}
