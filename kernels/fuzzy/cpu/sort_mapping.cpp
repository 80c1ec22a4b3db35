#include <fmt/format.h>

#include <algorithm>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/fuzzy/sort.hpp"

namespace heddle::fuzzy {
namespace {

std::int64_t cores_for_sort(const DeviceIdentity& device) { return std::max<std::int64_t>(device.units, 1); }

class CpuSortMapping final : public SortMapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/fuzzy/cpu/sort.hpp", cpu_builtin_options());
    return source;
  }
  SearchSpace space(const DeviceIdentity& device, Encoding) const override {
    std::vector<Value> threads{cores_for_sort(device)};
    for (std::int64_t count = 1 << 16; count >= 1; count /= 2) {
      if (count < cores_for_sort(device)) threads.emplace_back(count);
    }
    return {device,
            {{.name = "digit_bits",
              .values = {std::int64_t{8}, std::int64_t{11}, std::int64_t{6}},
              .meaning = "bits of the keys that one pass sorts by",
              .active = {}},
             {.name = "threads", .values = std::move(threads), .meaning = "threads that share the work", .active = {}}},
            sort_constraints()};
  }
  Configuration default_configuration(const DeviceIdentity& device, Encoding encoding,
                                      const ArrayShape& shape) const override {
    constexpr std::int64_t kWorthSharing = 10000;  // numbers: of fewer, threads would rather wait for each other
    return space(device, encoding)
        .parse(fmt::format("digit_bits=8 threads={}", shape.numbers > kWorthSharing ? cores_for_sort(device) : 1));
  }
  void add(Plan& plan, const Configuration& configuration, const ArrayShape& shape) const override {
    const std::int64_t digit_bits = configuration.number("digit_bits"), threads = configuration.number("threads");
    const std::int64_t item_bytes = shape.is_double() ? 16 : 8;
    plan.kernels = {fmt::format("heddle::fuzzy::cpu::sort<{}, {}>", real_name(shape), digit_bits)};
    plan.buffers.push_back({"items", shape.numbers * item_bytes, Role::scratch});
    plan.buffers.push_back({"moved_items", shape.numbers * item_bytes, Role::scratch});
    plan.buffers.push_back({"counts", 8 * threads * (std::int64_t{1} << digit_bits), Role::scratch});
    Launch launch{.kernel = 0, .grid = {.x = static_cast<unsigned>(threads)}, .block = {}, .arguments = {}};
    for (int buffer = 0; buffer < static_cast<int>(plan.buffers.size()); ++buffer) {
      launch.arguments.emplace_back(BufferArgument{buffer, 0});
    }
    launch.arguments.emplace_back(shape.numbers);
    launch.arguments.emplace_back(shape.components());
    launch.arguments.emplace_back(static_cast<std::int32_t>(shape.layout));
    launch.arguments.emplace_back(static_cast<std::int32_t>(threads));
    plan.launches = {launch};
  }
};

}  // namespace

const SortMapping& cpu_sort_mapping() {
  static const CpuSortMapping mapping;
  return mapping;
}

}  // namespace heddle::fuzzy
