#include "heddle/kernels/tsk/mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/tsk/cpu/sizes.hpp"

namespace heddle::tsk {

namespace {

/// Floats in the widest vector of an instruction set.
std::int64_t widest(std::string_view architecture) {
  return architecture == "x86-64-v4" ? 16 : architecture == "x86-64-v3" ? 8 : 4;
}

bool is_kept(const Configuration& configuration) { return configuration.word("storage") == "kept"; }
bool is_exact(const Problem& problem) { return problem.at("rows") <= kFewRows; }

std::int64_t cores(const DeviceIdentity& device) { return std::max<std::int64_t>(device.units, 1); }

class CpuMapping final : public Mapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/tsk/cpu/batch.hpp", cpu_builtin_options());
    return source;
  }

  SearchSpace space(const DeviceIdentity& device, int order) const override {
    std::vector<Value> widths, threads{cores(device)};
    for (std::int64_t width = widest(device.architecture); width >= 4; width /= 2) widths.emplace_back(width);
    for (std::int64_t count = 1 << 16; count >= 1; count /= 2) {
      if (count < cores(device)) threads.emplace_back(count);
    }
    return {device,
            {{.name = "storage",
              .values = {std::string("kept"), std::string("recomputed")},
              .meaning = "activations: stored for the gradient, or computed a second time",
              .active = {}},
             {.name = "tile_rows",
              .values = numbers({256, 128, 64, 512}),
              .meaning = "rows whose columns lie in the cache together",
              .active = {}},
             {.name = "side",
              .values = numbers({4, 2, 3, 5, 6}),
              .meaning = "columns x columns of the normal equations that stay in registers",
              .active = {}},
             {.name = "block_size", .values = std::move(widths), .meaning = "floats in a vector", .active = {}},
             {.name = "threads", .values = std::move(threads), .meaning = "threads that share the work", .active = {}}},
            {unknowns_constraint(order)}};
  }

  Configuration default_configuration(const DeviceIdentity& device, const Problem&, int order) const override {
    return space(device, order)
        .parse(fmt::format("storage=kept tile_rows=256 side=4 block_size={} threads={}", widest(device.architecture),
                           cores(device)));
  }

  Kernels kernels(const Configuration& configuration, const Problem& problem, const DeviceIdentity&,
                  int) const override {
    const std::int64_t tile = configuration.number("tile_rows"), width = configuration.number("block_size");
    const int kept = is_kept(configuration) ? 1 : 0;
    const char* type = is_exact(problem) ? "double" : "float";
    return {fmt::format("heddle::tsk::cpu::accumulate<{}, {}, {}, {}, {}>", width, tile, configuration.number("side"),
                        kept, type),
            fmt::format("heddle::tsk::cpu::descend<{}, {}, {}, {}>", width, tile, kept, type)};
  }

  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device, int order,
            std::int64_t iterations) const override {
    const auto int32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const std::int64_t tile = configuration.number("tile_rows");
    const std::int64_t threads = configuration.number("threads");
    const bool kept = is_kept(configuration);
    const std::int64_t rules = problem.at("rules"), dim = problem.at("dim"), outputs = problem.at("outputs");
    const std::int64_t unknowns = tsk::unknowns(problem, order), pitch = unknowns + outputs;
    const std::int64_t tiles = (problem.at("rows") + tile - 1) / tile;
    const bool exact = is_exact(problem);
    const std::int64_t real = exact ? sizeof(double) : sizeof(float);
    const cpu::BatchSizes sizes{int32(rules), int32(dim), int32(outputs), int32(unknowns / rules),
                                int32(tile),  int32(real)};
    Plan plan;
    plan.kernels = kernels(configuration, problem, device, order);
    plan.buffers = common_buffers(problem, order, iterations);
    for (Buffer& buffer : std::vector<Buffer>{{"antecedents", 2 * real * rules * dim, Role::scratch},
                                              {"gram", 8 * pitch * pitch, Role::scratch},
                                              {"solution", 8 * unknowns * outputs, Role::scratch},
                                              {"info", 4, Role::scratch},
                                              {"own", sizes.own() * threads, Role::scratch},
                                              {"sums", 8 * sizes.sums() * threads, Role::scratch},
                                              {"kept", kept ? real * tiles * tile * rules : 0, Role::scratch}}) {
      plan.buffers.push_back(std::move(buffer));
    }
    const auto at = [&plan](std::string_view buffer, std::size_t offset = 0) {
      return BufferArgument{plan.buffer(buffer), static_cast<std::int64_t>(offset)};
    };
    const auto argument = [&](std::int64_t size) { return Argument(int32(size)); };
    // As arguments.hpp reads them: what both kernels have, and then what one of them has.
    const auto launch = [&](int kernel, std::initializer_list<Argument> own) {
      std::vector<Argument> arguments{
          at("rows"),       at("targets"),  at("centres"),     at("widths"),    at("low_parts"),
          at("control"),    at("progress"), at("antecedents"), at("own"),       at("sums"),
          at("kept"),       argument(dim),  argument(outputs), argument(rules), argument(unknowns / rules),
          argument(threads)};
      arguments.insert(arguments.end(), own);
      return Launch{.kernel = kernel,
                    .grid = {.x = static_cast<unsigned>(threads)},
                    .block = {},
                    .arguments = std::move(arguments)};
    };
    const Launch accumulate = launch(0, {at("gram"), argument(pitch)});
    const Launch solve{.kernel = -1,
                       .grid = {},
                       .block = {},
                       .arguments = {at("gram"), at("solution"), at("control", offsetof(Control, ridge)), at("info"),
                                     int32(unknowns), int32(outputs), int32(pitch)},
                       .routine = "normal_equations"};
    const Launch descend = launch(1, {at("consequents"), at("best_centres"), at("best_widths"), at("best_consequents"),
                                      at("errors"), at("solution"), at("info"), argument(iterations)});
    for (std::int64_t i = 0; i < iterations; ++i) {
      for (const Launch& each : {accumulate, solve, descend}) plan.launches.push_back(each);
    }
    return plan;
  }
};

}  // namespace

const Mapping& cpu_mapping() {
  static const CpuMapping mapping;
  return mapping;
}

}  // namespace heddle::tsk
