#include <fmt/format.h>

#include <algorithm>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/cpu/mapping_tools.hpp"
#include "heddle/kernels/sonfin/cpu/sizes.hpp"
#include "heddle/kernels/sonfin/mapping.hpp"

namespace heddle::sonfin {

namespace {

using cpu::padded;

/// A configuration in numbers; names as in train.hpp.
struct Shape {
  bool dims;
  std::int64_t width, count, threads, prune;

  explicit Shape(const Configuration& c)
      : dims(c.word("coarsening") == "dims"),
        width(c.number("block_size")),
        count(c.number("coarsen_count")),
        threads(c.number("threads")),
        prune(c.number("prune")) {}

  std::int64_t tiles(const Problem& p) const { return padded(p.at("rules"), width) / width; }
};

std::vector<Parameter> parameters(const DeviceIdentity& device) {
  return {{.name = "coarsening",
           .values = words({"rules", "dims"}),
           .meaning = "whether a vector holds the same input of several rules, or several inputs of one rule",
           .active = {}},
          {.name = "coarsen_count",
           .values = numbers({1, 2, 4, 8}),
           .meaning = "vectors that are worked on at a time",
           .active = {}},
          cpu::block_size(device),
          cpu::threads(device),
          {.name = "prune",
           .values = numbers({0, 64, 256}),
           .meaning = "inputs after which a rule that cannot matter is given up; 0: never",
           .active = {}}};
}

std::vector<Constraint> constraints() {
  return {{"no more than half of the vectors at a time without work",
           {},
           [](const Configuration& c, const Problem& p, const DeviceIdentity&) {
             const Shape shape(c);
             if (shape.count == 1) return true;
             return shape.dims ? shape.count * shape.width < 2 * p.at("dim")
                               : shape.count * shape.threads < 2 * shape.tiles(p);
           }},
          {"a tile of rules for every thread",
           {},
           [](const Configuration& c, const Problem& p, const DeviceIdentity&) {
             return c.number("threads") == 1 || c.number("threads") <= Shape(c).tiles(p);
           }},
          {"prune < dim", {}, [](const Configuration& c, const Problem& p, const DeviceIdentity&) {
             return c.number("prune") == 0 || c.number("prune") < p.at("dim");
           }}};
}

class TrainMapping final : public Mapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/sonfin/cpu/train.hpp", cpu_builtin_options());
    return source;
  }

  SearchSpace space(const DeviceIdentity& device) const override { return {device, parameters(device), constraints()}; }

  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    const std::int64_t width = cpu::widest(device.architecture);
    const std::int64_t tiles = padded(problem.at("rules"), width) / width;
    // Below this, what a thread saves is little, and where other work runs too it is lost many times over: every sample
    // waits for the thread that does not get a core.
    constexpr std::int64_t kTasksPerThread = 8192;
    const std::int64_t work = problem.at("rules") * (problem.at("dim") + problem.at("outputs"));
    const std::int64_t wanted = std::min(tiles, work / kTasksPerThread);
    std::int64_t threads = 1;
    for (const Value& value : cpu::threads(device).values) {
      const std::int64_t count = std::get<std::int64_t>(value);
      if (count <= wanted) threads = std::max(threads, count);
    }
    const SearchSpace all = space(device);
    const auto with_count = [&](int count) {
      return all.parse(
          fmt::format("coarsening=rules coarsen_count={} block_size={} threads={} prune=0", count, width, threads));
    };
    // Two tiles share each input that is loaded, and the arithmetic of one hides the latency of the other; more than
    // two gain no more (docs/performance.md, "The CPU").
    Configuration two = with_count(2);
    return all.violated(two, problem) ? with_count(1) : two;
  }

  Layout layout(const Configuration& configuration, const Problem& problem, const DeviceIdentity&) const override {
    const Shape shape(configuration);
    const std::int64_t dim = problem.at("dim");
    return {.capacity = padded(problem.at("rules"), shape.width * shape.threads),
            .dim = dim,
            .outputs = problem.at("outputs"),
            .stride = shape.dims ? padded(dim, shape.width) : dim,
            .target_stride = padded(problem.at("outputs"), shape.width),
            .antecedent_tile = shape.dims ? 1 : shape.width,
            .consequent_tile = shape.width,
            .banks = shape.threads,
            .dealt = shape.width};
  }

  Kernels kernels(const Configuration& configuration, const Problem&) const override {
    const Shape shape(configuration);
    return {
        fmt::format("heddle::sonfin::cpu::train_{}<{}, {}>", shape.dims ? "dims" : "rules", shape.width, shape.count)};
  }

  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            std::int64_t samples) const override {
    const Shape shape(configuration);
    const Layout where = layout(configuration, problem, device);
    const auto int32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const cpu::TrainSizes sizes{int32(where.capacity), int32(where.outputs), int32(where.banks), int32(shape.width)};
    constexpr std::int64_t kFloat = sizeof(float);
    Plan plan;
    plan.samples = samples;
    plan.kernels = kernels(configuration, problem);
    plan.buffers = {{"centres", kFloat * where.antecedents(), Role::parameter},
                    {"widths", kFloat * where.antecedents(), Role::parameter},
                    {"consequents", kFloat * where.consequents(), Role::parameter},
                    {"progress", sizeof(Progress), Role::state},
                    {"control", sizeof(Control), Role::input},
                    {"rows", kFloat * samples * where.stride, Role::input},
                    {"targets", kFloat * samples * where.target_stride, Role::input},
                    {"order", kFloat * samples, Role::input},
                    {"inverse_widths", kFloat * where.antecedents(), Role::scratch},
                    {"records", kFloat * sizes.records(), Role::scratch},
                    {"scratch", kFloat * sizes.scratch(), Role::scratch}};
    Launch launch{.kernel = 0, .grid = {.x = static_cast<unsigned>(shape.threads)}, .block = {}, .arguments = {}};
    for (int buffer = 0; buffer < int32(static_cast<std::int64_t>(plan.buffers.size())); ++buffer) {
      launch.arguments.emplace_back(BufferArgument{buffer, 0});
    }
    for (const std::int64_t size :
         {samples, where.stride, where.target_stride, where.outputs, problem.at("rules"), shape.prune, where.banks}) {
      launch.arguments.emplace_back(int32(size));
    }
    plan.launches = {std::move(launch)};
    return plan;
  }
};

}  // namespace

const Mapping& cpu_train_mapping() {
  static const TrainMapping mapping;
  return mapping;
}

}  // namespace heddle::sonfin
