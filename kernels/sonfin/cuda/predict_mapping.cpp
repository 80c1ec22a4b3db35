#include <fmt/format.h>

#include <algorithm>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/cuda/arrangement.hpp"
#include "heddle/kernels/sonfin/mapping.hpp"

namespace heddle::sonfin {

namespace {

constexpr std::int64_t kPrepareBlock = 128;

/// Names as in predict.cuh.
struct PredictShape {
  std::int64_t block_rows, block_rules, thread_rows, thread_rules, depth, combine_block;

  explicit PredictShape(const Configuration& c)
      : block_rows(c.number("block_rows")),
        block_rules(c.number("block_rules")),
        thread_rows(c.number("coarsen_rows")),
        thread_rules(c.number("coarsen_rules")),
        depth(c.number("depth")),
        combine_block(c.number("combine_size")) {}

  std::int64_t threads() const { return block_rows / thread_rows * (block_rules / thread_rules); }
  /// Shared memory of fire_rows: two stages.
  std::int64_t shared_bytes() const { return 2 * 4 * (block_rows * (depth + 4) + 2 * depth * block_rules); }
};

class PredictMapping final : public Mapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/sonfin/cuda/predict.cuh", cuda_network_options());
    return source;
  }

  SearchSpace space(const DeviceIdentity& device) const override {
    const auto numbers = [](std::initializer_list<std::int64_t> v) { return std::vector<Value>(v.begin(), v.end()); };
    return {
        device,
        {{.name = "block_rows", .values = numbers({64, 128, 32}), .meaning = "rows of a block's tile", .active = {}},
         {.name = "block_rules", .values = numbers({64, 128, 32}), .meaning = "rules of a block's tile", .active = {}},
         {.name = "coarsen_rows", .values = numbers({4, 8, 2, 16}), .meaning = "rows of one thread", .active = {}},
         {.name = "coarsen_rules", .values = numbers({4, 8, 2}), .meaning = "rules of one thread", .active = {}},
         {.name = "depth",
          .values = numbers({16, 8, 32}),
          .meaning = "inputs in shared memory at a time",
          .active = {}},
         {.name = "combine_size",
          .values = numbers({128, 256}),
          .meaning = "threads of a block that normalises rows",
          .active = {}}},
        {{"at most 128 sums in a thread's registers", "coarsen_rules",
          [](const Configuration& c, const Problem&, const DeviceIdentity&) {
            return c.number("coarsen_rows") * c.number("coarsen_rules") <= 128;
          }},
         {"64 to 512 threads in a block", "",
          [](const Configuration& c, const Problem&, const DeviceIdentity&) {
            const std::int64_t threads = PredictShape(c).threads();
            return threads >= 64 && threads <= 512;
          }},
         {"shared memory of a block", "",
          [](const Configuration& c, const Problem&, const DeviceIdentity& device_of_space) {
            return PredictShape(c).shared_bytes() <= device_of_space.local_bytes;
          }}}};
  }

  Configuration default_configuration(const DeviceIdentity& device, const Problem&) const override {
    return space(device).parse(
        "block_rows=128 block_rules=64 coarsen_rows=8 coarsen_rules=8 depth=16 combine_size=128");
  }

  Layout layout(const Configuration&, const Problem& problem, const DeviceIdentity&) const override {
    return rows_of_four(problem);
  }

  std::int64_t rows_of_tile(const Configuration& configuration) const override {
    return PredictShape(configuration).block_rows;
  }

  Kernels kernels(const Configuration& configuration, const Problem& problem) const override {
    const PredictShape shape(configuration);
    return {fmt::format("heddle::sonfin::prepare_rules<{}>", kPrepareBlock),
            fmt::format("heddle::sonfin::fire_rows<{}, {}, {}, {}, {}>", shape.block_rows, shape.block_rules,
                        shape.thread_rows, shape.thread_rules, shape.depth),
            fmt::format("heddle::sonfin::combine_rows<{}, {}>", shape.combine_block,
                        std::min<std::int64_t>(16, power_of_two_from(problem.at("outputs"))))};
  }

  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            std::int64_t samples) const override {
    const PredictShape shape(configuration);
    const Layout where = layout(configuration, problem, device);
    Plan plan;
    plan.samples = samples;
    const std::int64_t depth = ceil_div(where.stride, shape.depth) * shape.depth;
    const std::int64_t pitch = ceil_div(where.capacity, shape.block_rules) * shape.block_rules;
    plan.kernels = kernels(configuration, problem);
    plan.buffers = {{"centres", 4 * where.antecedents(), Role::input},
                    {"widths", 4 * where.antecedents(), Role::input},
                    {"consequents", 4 * where.consequents(), Role::input},
                    {"control", sizeof(PredictControl), Role::input},
                    {"rows", 4 * samples * where.stride, Role::input},
                    {"outputs", 4 * samples * where.outputs, Role::output},
                    {"prepared", 3 * 4 * depth * pitch, Role::scratch},
                    {"quotients", 4 * pitch, Role::scratch},
                    {"log_firing", 4 * samples * where.capacity, Role::scratch}};
    const auto at = [&plan](std::string_view buffer) { return BufferArgument{plan.buffer(buffer), 0}; };
    const auto extent = [](std::int64_t x, std::int64_t y = 1) {
      return Extent{.x = static_cast<unsigned>(x), .y = static_cast<unsigned>(y)};
    };
    const auto stride = static_cast<std::int32_t>(where.stride);
    const auto capacity = static_cast<std::int32_t>(where.capacity);
    const auto prepared_depth = static_cast<std::int32_t>(depth), prepared_pitch = static_cast<std::int32_t>(pitch);
    plan.launches.push_back({.kernel = 0,
                             .grid = extent(ceil_div(pitch, kPrepareBlock / 32)),
                             .block = extent(kPrepareBlock),
                             .shared_bytes = 0,
                             .arguments = {at("centres"), at("widths"), at("control"), at("prepared"), at("quotients"),
                                           stride, prepared_depth, prepared_pitch}});
    plan.launches.push_back(
        {.kernel = 1,
         .grid = extent(ceil_div(where.capacity, shape.block_rules), ceil_div(samples, shape.block_rows)),
         .block = extent(shape.threads()),
         .shared_bytes = shape.shared_bytes(),
         .arguments = {at("rows"), at("prepared"), at("quotients"), at("control"), at("log_firing"), stride,
                       prepared_depth, prepared_pitch, capacity}});
    plan.launches.push_back({.kernel = 2,
                             .grid = extent(ceil_div(samples, shape.combine_block / 32)),
                             .block = extent(shape.combine_block),
                             .shared_bytes = 0,
                             .arguments = {at("log_firing"), at("consequents"), at("control"), at("outputs"),
                                           static_cast<std::int32_t>(where.outputs), capacity}});
    return plan;
  }
};

}  // namespace

const Mapping& cuda_predict_mapping() {
  static const PredictMapping mapping;
  return mapping;
}

}  // namespace heddle::sonfin
