#include "heddle/kernels/fuzzy/sum_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "heddle/kernels/common/cuda_limits.hpp"
#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/fuzzy/cpu_space.hpp"
#include "heddle/kernels/fuzzy/sum_reference.hpp"
#include "heddle/kernels/fuzzy/sum_space.hpp"
#include "heddle/kernels/fuzzy/sum_workload.hpp"
#include "heddle/kernels/fuzzy/sums.hpp"

namespace heddle::fuzzy {
namespace {

/// The blocks of arrays for tests repeat; a block and its neighbours differ.
constexpr std::int64_t kPeriodOfTerms = 7LL * kBlockTerms;
constexpr std::int64_t kAlignment = 256;  // bytes, of the numbers of a level

/// The numbers of every level of a sum, from the results of the first blocks to the result, and where they lie.
struct Level {
  std::int64_t numbers = 0;
  std::int64_t offset = 0;  ///< bytes; within "partial", but for the last level
};

std::vector<Level> levels_of(const ArrayShape& shape) {
  std::vector<Level> levels;
  ArrayShape of_level = shape;
  std::int64_t offset = 0;
  do {
    of_level.numbers = blocks_of(of_level.numbers);
    levels.push_back({of_level.numbers, offset});
    offset += (of_level.bytes() + kAlignment - 1) / kAlignment * kAlignment;
  } while (of_level.numbers > 1);
  return levels;
}

class SumFamily final : public ArrayFamily {
 public:
  SumFamily(Encoding encoding, bool products)
      : ArrayFamily(
            fmt::format("fuzzy-{}-{}", products ? "dot" : "sum", suffix(encoding)),
            products ? "the dot product of two arrays of fuzzy numbers" : "the sum of an array of fuzzy numbers",
            encoding, with_form_axes({numbers_axis()})),
        products_(products) {}

  std::vector<Problem> default_problems(const DeviceIdentity& device) const override {
    const std::int64_t numbers = device.backend == "cuda" ? 10'000'000 : 30'000;
    return {problem_of(numbers, 4, 32, kNumbers), problem_of(numbers, 4, 64, kCuts)};
  }
  Problem awkward_problem() const override { return problem_of(4201, 3, 64, kCuts); }

  const TemplateSource& source(std::string_view backend) const override {
    static const TemplateSource cpu("heddle/kernels/fuzzy/cpu/sum.hpp", cpu_exact_options());
    static const TemplateSource cuda("heddle/kernels/fuzzy/cuda/sum.cuh", compile_options());
    return backend == "cpu" ? cpu : cuda;
  }
  SearchSpace space(const DeviceIdentity& device) const override {
    if (device.backend == "cpu") return {device, {threads_parameter(device)}, form_constraints()};
    std::vector<Constraint> constraints = form_constraints();
    constraints.push_back(cuts_constraint());
    constraints.push_back(registers_constraint());
    return {device, {cuts_parameter(), ahead_parameter(), block_size_parameter()}, std::move(constraints)};
  }
  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    if (device.backend == "cpu") return space(device).parse(fmt::format("threads={}", cores_of(device)));
    const bool lower_upper = encoding() == Encoding::lower_upper, is_float = problem.at("bits") == 32;
    const std::int64_t of_number = problem.at("cuts");
    // Figures: "Where a search found better" in docs/performance.md.
    std::int64_t cuts = 1, ahead = products_ && lower_upper ? 16 : 8, block = 128;
    // Neighbouring cuts of a number that lies together share lines of memory: of many cuts a thread takes several.
    if (problem.at("layout") == kNumbers && of_number > 4 && !(products_ && lower_upper)) {
      const bool two = is_float && (products_ || lower_upper);
      cuts = untuned_cuts(of_number, two ? 2 : 3);
      if (cuts > 1 && products_) ahead = 1, block = is_float ? 64 : 128;
      if (cuts > 1 && !products_ && !two) ahead = 4, block = is_float ? 128 : 256;
    }
    return space(device).parse(fmt::format("coarsen_cuts={} ahead={} block_size={}", cuts, ahead, block));
  }

  Plan once(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device) const override {
    const ArrayShape shape = array_of(problem);
    const std::vector<Level> levels = levels_of(shape);
    const bool on_cpu = device.backend == "cpu";
    Plan plan;
    plan.buffers.push_back({"x", shape.bytes(), Role::input});
    if (products_) plan.buffers.push_back({"y", shape.bytes(), Role::input});
    const int result = static_cast<int>(plan.buffers.size());
    ArrayShape one = shape;
    one.numbers = 1;
    plan.buffers.push_back({"result", one.bytes(), Role::output});
    if (levels.size() > 1 || on_cpu) {
      plan.buffers.push_back({"partial", std::max(levels.back().offset, kAlignment), Role::scratch});
    }
    const char* const name = products_ ? "dot" : "sum";
    if (on_cpu) {
      plan.kernels = {fmt::format("heddle::fuzzy::cpu::{}<{}, {}>", name, floats_in_vector(device.architecture),
                                  encoding() == Encoding::lower_upper)};
      Launch launch{.kernel = 0,
                    .grid = {.x = static_cast<unsigned>(configuration.number("threads"))},
                    .block = {},
                    .arguments = {}};
      for (int buffer = 0; buffer <= result + 1; ++buffer) launch.arguments.emplace_back(BufferArgument{buffer, 0});
      launch.arguments.emplace_back(StructArgument(shape.form()));
      plan.launches = {std::move(launch)};
    } else {
      const std::int64_t cuts = configuration.number("coarsen_cuts"), threads = configuration.number("block_size");
      plan.kernels = {fmt::format("heddle::fuzzy::{}<{}, {}, {}, {}>", name, array_name(shape), cuts,
                                  configuration.number("ahead"), threads)};
      // Levels after the first have so few terms that latency decides: many warps, of one cut each.
      constexpr std::int64_t kAhead = 32, kThreads = 64;
      if (levels.size() > 1) {
        plan.kernels.emplace_back(
            fmt::format("heddle::fuzzy::sum<{}, 1, {}, {}>", array_name(shape), kAhead, kThreads));
      }
      std::int64_t terms = shape.numbers;
      for (std::size_t level = 0; level < levels.size(); ++level) {
        const bool first = level == 0, last = level + 1 == levels.size();
        Launch launch;
        launch.kernel = first ? 0 : 1;
        const std::int64_t of_block = first ? threads : kThreads;
        const std::int64_t warps = levels[level].numbers * (first ? shape.cuts / cuts : shape.cuts);
        launch.grid.x = blocks_of_threads(warps * cuda::kWarp, of_block);
        launch.block.x = static_cast<unsigned>(of_block);
        if (first) {
          for (int input = 0; input < result; ++input) launch.arguments.emplace_back(BufferArgument{input, 0});
        } else {
          launch.arguments.emplace_back(BufferArgument{result + 1, levels[level - 1].offset});
        }
        launch.arguments.emplace_back(last ? BufferArgument{result, 0}
                                           : BufferArgument{result + 1, levels[level].offset});
        launch.arguments.emplace_back(terms);
        plan.launches.push_back(std::move(launch));
        terms = levels[level].numbers;
      }
      plan.captured = plan.launches.size() > 1;
    }
    plan.samples = 1;
    return plan;
  }

  HostImage contents(const Problem& problem, std::uint64_t seed, NumberKind kind) const override {
    HostImage image;
    image["x"] = random_terms(array_of(problem), seed, kind, kPeriodOfTerms);
    if (products_) image["y"] = random_terms(array_of(problem), ~seed, kind, kPeriodOfTerms);
    return image;
  }
  HostImage expected(const Problem& problem, const HostImage& contents) const override {
    const ArrayShape shape = array_of(problem);
    const auto& x = contents.find("x")->second;
    return {{"result", products_ ? dot_product(shape, x, contents.find("y")->second) : sum_of(shape, x)}};
  }

  Work work(const Problem& problem) const override {
    const ArrayShape shape = array_of(problem);
    const auto numbers = static_cast<double>(shape.numbers), cuts = static_cast<double>(shape.cuts);
    const double operations = encoding() == Encoding::lower_upper ? (products_ ? 14.0 : 2.0) * cuts
                                                                  : (products_ ? 2.0 + 4.0 * cuts : 1.0 + 2.0 * cuts);
    return {.bytes = static_cast<double>(shape.bytes()) * (products_ ? 2.0 : 1.0), .operations = operations * numbers};
  }

 private:
  [[nodiscard]] Problem problem_of(std::int64_t numbers, std::int64_t cuts, std::int64_t bits, Layout layout) const {
    return Problem::from(axes(), {numbers, cuts, bits, layout});
  }
  [[nodiscard]] ArrayShape array_of(const Problem& problem) const {
    return shape_of(problem, encoding(), problem.at("numbers"));
  }

  bool products_;
};

}  // namespace

const KernelFamily& sum_family(Encoding encoding) {
  static const SumFamily lower_upper(Encoding::lower_upper, false), midpoint_radius(Encoding::midpoint_radius, false);
  return encoding == Encoding::lower_upper ? lower_upper : midpoint_radius;
}

const KernelFamily& dot_family(Encoding encoding) {
  static const SumFamily lower_upper(Encoding::lower_upper, true), midpoint_radius(Encoding::midpoint_radius, true);
  return encoding == Encoding::lower_upper ? lower_upper : midpoint_radius;
}

}  // namespace heddle::fuzzy
