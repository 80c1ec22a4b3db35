#include "heddle/kernels/mlp/mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/mlp/cpu/sizes.hpp"

namespace heddle::mlp {
namespace {

constexpr std::int64_t kCacheLine = 64;

/// Floats in the widest vector of an instruction set.
std::int64_t widest_vector(std::string_view architecture) {
  return architecture == "x86-64-v4" ? 16 : architecture == "x86-64-v3" ? 8 : 4;
}
std::int64_t cores_of(const DeviceIdentity& device) { return std::max<std::int64_t>(device.units, 1); }
std::int32_t int32(std::int64_t value) { return static_cast<std::int32_t>(value); }

bool online(const Configuration& configuration) {
  return configuration.has("scheme") && configuration.word("scheme") == "online";
}
bool in_tiles(const Configuration& configuration) { return !online(configuration); }

/// What both families share: their work is the same products.
std::vector<Parameter> tile_parameters(const DeviceIdentity& device) {
  std::vector<Value> widths, threads{cores_of(device)};
  for (std::int64_t width = widest_vector(device.architecture); width >= 4; width /= 2) widths.emplace_back(width);
  for (std::int64_t count = 1 << 16; count >= 1; count /= 2) {
    if (count < cores_of(device)) threads.emplace_back(count);
  }
  return {{.name = "coarsen_rows",
           .values = numbers({4, 8, 2, 1}),
           .meaning = "rows of a product that share a loaded vector",
           .active = in_tiles},
          {.name = "coarsen_vectors",
           .values = numbers({2, 1, 4}),
           .meaning = "vectors of a product that share a loaded number",
           .active = in_tiles},
          {.name = "tile_rows",
           .values = numbers({32, 64, 128, 16}),
           .meaning = "rows of data that pass through the layers together",
           .active = in_tiles},
          {.name = "block_size", .values = std::move(widths), .meaning = "floats in a vector", .active = {}},
          {.name = "threads", .values = std::move(threads), .meaning = "threads that share the work", .active = {}}};
}
std::vector<Constraint> tile_constraints(const DeviceIdentity& device) {
  // More sums than a CPU has vector registers are of no use.
  const std::int64_t most_sums = device.architecture == "x86-64-v4" ? 24 : 16;
  return {{.name = fmt::format("at most {} sums in registers", most_sums),
           .last = "coarsen_vectors",
           .holds =
               [most_sums](const Configuration& c, const Problem&, const DeviceIdentity&) {
                 return online(c) || c.number("coarsen_rows") * c.number("coarsen_vectors") <= most_sums;
               }},
          parameters_constraint()};
}
SearchSpace cpu_train_space(const DeviceIdentity& device) {
  std::vector<Parameter> parameters = tile_parameters(device);
  parameters.insert(parameters.begin(),
                    {.name = "scheme",
                     .values = {std::string("tiles"), std::string("online")},
                     .meaning = "products of tiles of rows, which threads share; row after row in one thread",
                     .active = {}});
  std::vector<Constraint> constraints = tile_constraints(device);
  constraints.push_back({.name = "online, a step learns from one row, in one thread",
                         .last = "threads",
                         .holds = [](const Configuration& c, const Problem& problem, const DeviceIdentity&) {
                           return !online(c) || (problem.at("batch") == 1 && c.number("threads") == 1);
                         }});
  return {device, std::move(parameters), std::move(constraints)};
}
SearchSpace cpu_predict_space(const DeviceIdentity& device) {
  return {device, tile_parameters(device), tile_constraints(device)};
}

/// The tiles of a default.
std::string usual_tiles(const DeviceIdentity& device, std::int64_t threads) {
  return fmt::format("coarsen_rows=4 coarsen_vectors=2 tile_rows=32 block_size={} threads={}",
                     widest_vector(device.architecture), threads);
}

std::string instance(const char* kernel, const Configuration& configuration) {
  return fmt::format("heddle::mlp::cpu::{}<{}, {}, {}>", kernel, configuration.number("block_size"),
                     configuration.number("coarsen_rows"), configuration.number("coarsen_vectors"));
}

/// One launch with all buffers in their order, and then `sizes`.
Launch launch_of(const Plan& plan, std::int64_t threads, const Layers& layers,
                 std::initializer_list<std::int64_t> sizes) {
  Launch launch{.kernel = 0, .grid = {.x = static_cast<unsigned>(threads)}, .block = {}, .arguments = {}};
  for (int buffer = 0; buffer < static_cast<int>(plan.buffers.size()); ++buffer) {
    launch.arguments.emplace_back(BufferArgument{buffer, 0});
  }
  launch.arguments.emplace_back(StructArgument(layers));
  for (const std::int64_t size : sizes) launch.arguments.emplace_back(int32(size));
  return launch;
}

class CpuTrainMapping final : public Mapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/mlp/cpu/training.hpp", cpu_builtin_options());
    return source;
  }
  SearchSpace space(const DeviceIdentity& device) const override { return cpu_train_space(device); }
  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    // Of shorter steps threads would spend more time waiting for each other.
    constexpr double kWorthSharing = 1e5;  // multiply-adds
    const double work = static_cast<double>(layers_of(problem).parameters()) * static_cast<double>(problem.at("batch"));
    const SearchSpace all = space(device);
    if (problem.at("batch") == 1) {
      return all.parse(fmt::format("scheme=online block_size={} threads=1", widest_vector(device.architecture)));
    }
    return all.parse("scheme=tiles " + usual_tiles(device, work > kWorthSharing ? cores_of(device) : 1));
  }
  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity& device) const override {
    return {{.name = "sequential",
             .meaning = "one thread, one row and one vector at a time: next to a program without threads or tiles",
             .configuration = [all = cpu_train_space(device)](const Problem& p) -> std::optional<Configuration> {
               Configuration configuration =
                   all.parse("scheme=tiles coarsen_rows=1 coarsen_vectors=1 tile_rows=16 block_size=4 threads=1");
               if (all.violated(configuration, p)) return std::nullopt;
               return configuration;
             }}};
  }
  Kernels kernels(const Configuration& configuration, const Problem&, const DeviceIdentity&) const override {
    if (online(configuration)) {
      return {fmt::format("heddle::mlp::cpu::train_online<{}>", configuration.number("block_size"))};
    }
    return {instance("train", configuration)};
  }
  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            const RunLength& length) const override {
    const Layers layers = layers_of(problem);
    const std::int64_t threads = configuration.number("threads");
    const std::int64_t rows = problem.at("rows"), batch = std::min(rows, problem.at("batch"));
    constexpr std::int64_t kFloat = sizeof(float);
    Plan plan;
    plan.kernels = kernels(configuration, problem, device);
    plan.buffers = training_buffers(problem, length);
    plan.samples = std::min(length.steps * batch, length.epochs * rows);
    if (online(configuration)) {
      plan.buffers.push_back({"own", kFloat * cpu::TileSizes{layers, 1}.of_training(), Role::scratch});
      plan.launches = {launch_of(plan, 1, layers, {length.steps, length.epochs})};
      return plan;
    }
    const std::int64_t tile = configuration.number("tile_rows");
    plan.buffers.push_back({"packed", kFloat * cpu::PackedSizes{layers}.all(), Role::scratch});
    plan.buffers.push_back({"sums", kFloat * threads * cpu::GradientSizes{layers}.all(), Role::scratch});
    plan.buffers.push_back({"squares", kCacheLine * threads, Role::scratch});
    plan.buffers.push_back({"own", kFloat * threads * cpu::TileSizes{layers, tile}.of_training(), Role::scratch});
    plan.launches = {launch_of(plan, threads, layers, {tile, threads, length.steps, length.epochs})};
    return plan;
  }
};

class CpuPredictMapping final : public Mapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/mlp/cpu/predict.hpp", cpu_builtin_options());
    return source;
  }
  SearchSpace space(const DeviceIdentity& device) const override { return cpu_predict_space(device); }
  Configuration default_configuration(const DeviceIdentity& device, const Problem&) const override {
    return space(device).parse(usual_tiles(device, cores_of(device)));
  }
  Kernels kernels(const Configuration& configuration, const Problem&, const DeviceIdentity&) const override {
    return {instance("predict", configuration)};
  }
  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            const RunLength& length) const override {
    const Layers layers = layers_of(problem);
    const std::int64_t tile = configuration.number("tile_rows"), threads = configuration.number("threads");
    constexpr std::int64_t kFloat = sizeof(float);
    Plan plan;
    plan.kernels = kernels(configuration, problem, device);
    plan.buffers = prediction_buffers(problem, length.steps);
    plan.samples = length.steps;
    plan.buffers.push_back({"packed", kFloat * cpu::PackedSizes{layers}.all(), Role::scratch});
    plan.buffers.push_back({"own", kFloat * threads * cpu::TileSizes{layers, tile}.of_prediction(), Role::scratch});
    plan.launches = {launch_of(plan, threads, layers, {tile})};
    return plan;
  }
};

}  // namespace

const Mapping& cpu_train_mapping() {
  static const CpuTrainMapping mapping;
  return mapping;
}

const Mapping& cpu_predict_mapping() {
  static const CpuPredictMapping mapping;
  return mapping;
}

}  // namespace heddle::mlp
