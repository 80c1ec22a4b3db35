#include <fmt/format.h>

#include <algorithm>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/cpu/mapping_tools.hpp"
#include "heddle/kernels/sonfin/cpu/sizes.hpp"
#include "heddle/kernels/sonfin/mapping.hpp"

namespace heddle::sonfin {

namespace {

class PredictMapping final : public Mapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/sonfin/cpu/predict.hpp", cpu_builtin_options());
    return source;
  }

  SearchSpace space(const DeviceIdentity& device) const override {
    return {device,
            {{.name = "coarsen_rows",
              .values = numbers({8, 4, 2, 1, 12}),
              .meaning = "rows that share a loaded parameter",
              .active = {}},
             cpu::block_size(device),
             cpu::threads(device)},
            {}};
  }

  Configuration default_configuration(const DeviceIdentity& device, const Problem&) const override {
    return space(device).parse(fmt::format("coarsen_rows=8 block_size={} threads={}", cpu::widest(device.architecture),
                                           std::max<std::int64_t>(device.units, 1)));
  }

  Layout layout(const Configuration& configuration, const Problem& problem, const DeviceIdentity&) const override {
    const std::int64_t width = configuration.number("block_size");
    return {.capacity = cpu::padded(problem.at("rules"), width),
            .dim = problem.at("dim"),
            .outputs = problem.at("outputs"),
            .stride = problem.at("dim"),
            .target_stride = problem.at("outputs"),
            .antecedent_tile = width,
            .consequent_tile = width};
  }

  std::int64_t rows_of_tile(const Configuration& configuration) const override {
    return configuration.number("coarsen_rows") * configuration.number("threads");
  }

  Kernels kernels(const Configuration& configuration, const Problem&) const override {
    return {fmt::format("heddle::sonfin::cpu::predict<{}, {}>", configuration.number("block_size"),
                        configuration.number("coarsen_rows"))};
  }

  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            std::int64_t samples) const override {
    const Layout where = layout(configuration, problem, device);
    const std::int64_t rows = configuration.number("coarsen_rows");
    const std::int64_t threads = configuration.number("threads");
    const auto int32 = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    const cpu::PredictSizes sizes{int32(where.capacity), int32(rows)};
    constexpr std::int64_t kFloat = sizeof(float);
    Plan plan;
    plan.samples = samples;
    plan.kernels = kernels(configuration, problem);
    plan.buffers = {{"centres", kFloat * where.antecedents(), Role::input},
                    {"widths", kFloat * where.antecedents(), Role::input},
                    {"consequents", kFloat * where.consequents(), Role::input},
                    {"control", sizeof(PredictControl), Role::input},
                    {"rows", kFloat * samples * where.stride, Role::input},
                    {"outputs", kFloat * samples * where.outputs, Role::output},
                    {"inverse_widths", kFloat * where.antecedents(), Role::scratch},
                    {"own", kFloat * sizes.own() * threads, Role::scratch}};
    Launch launch{.kernel = 0, .grid = {.x = static_cast<unsigned>(threads)}, .block = {}, .arguments = {}};
    for (int buffer = 0; buffer < int32(static_cast<std::int64_t>(plan.buffers.size())); ++buffer) {
      launch.arguments.emplace_back(BufferArgument{buffer, 0});
    }
    for (const std::int64_t size : {where.dim, where.outputs, where.capacity}) {
      launch.arguments.emplace_back(int32(size));
    }
    plan.launches = {std::move(launch)};
    return plan;
  }
};

}  // namespace

const Mapping& cpu_predict_mapping() {
  static const PredictMapping mapping;
  return mapping;
}

}  // namespace heddle::sonfin
