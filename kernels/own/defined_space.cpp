#include "heddle/kernels/own/defined_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/expression/item.hpp"
#include "heddle/kernels/own/defined_plan.hpp"
#include "heddle/kernels/own/expression_names.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

/// Of values that are all numbers.
std::optional<Bounds> bounds_of(const std::vector<Value>& values) {
  Bounds bounds{.low = std::numeric_limits<double>::infinity(), .high = -std::numeric_limits<double>::infinity()};
  for (const Value& value : values) {
    const Item item = item_of(value);
    if (!is_number(item)) return std::nullopt;
    bounds = {.low = std::min(bounds.low, real_of(item)), .high = std::max(bounds.high, real_of(item))};
  }
  return bounds;
}

/// Lets a constraint be judged before all of its parameters are known, by the bounds of their values.
void foresee(const ParsedDefinition& kernel, Constraint& constraint, const Expression& holds) {
  std::map<std::string, Bounds, std::less<>> bounds;
  for (std::size_t i = 0; i < kernel.definition.parameters.size(); ++i) {
    const KernelDefinition::Tunable& tunable = kernel.definition.parameters[i];
    if (std::ranges::find(holds.names(), tunable.name) == holds.names().end()) continue;
    if (tunable.name != constraint.last) constraint.foresees.push_back(tunable.name);
    if (const auto known = bounds_of(tunable.values); known && !kernel.active[i]) bounds.emplace(tunable.name, *known);
  }
  if (bounds.empty()) return;
  constraint.may_hold = [holds, bounds](const Configuration& before, const Problem& problem,
                                        const DeviceIdentity& where) {
    const auto names = names_of(&before, &problem, &where);
    return holds.may_hold([&](std::string_view name) -> std::variant<std::monostate, Value, Bounds> {
      if (auto value = names(name)) return *std::move(value);
      const auto known = bounds.find(name);
      if (known != bounds.end()) return known->second;
      return {};
    });
  };
}

Constraint launch_limits(const ParsedDefinition& kernel) {
  Constraint limits;
  limits.name = kLaunchLimits;
  limits.holds = [&kernel](const Configuration& configuration, const Problem& problem, const DeviceIdentity& device) {
    const ParsedDefinition::Code& own = kernel.code_for(device.backend);
    const auto names = names_of(&configuration, &problem, &device);
    try {
      const Launch launch{.grid = extent_of(own.grid, names, "grid"),
                          .block = extent_of(own.block, names, "block"),
                          .shared_bytes = own.shared_bytes->integer(names),
                          .arguments = {}};
      return launch.shared_bytes >= 0 && !beyond_limits(launch, device);
    } catch (const Error&) {  // no such launch
      return false;
    }
  };
  return limits;
}

}  // namespace

std::string BeyondLimit::text() const { return fmt::format("{} {}, at most {} can be launched", what, found, most); }

std::optional<BeyondLimit> beyond_limits(const Launch& launch, const DeviceIdentity& device) {
  // The limits that all CUDA devices have in common; one card may have fewer registers than a block needs.
  constexpr std::int64_t kThreads = 1024, kBlockZ = 64, kGridY = 65535;
  const Extent &grid = launch.grid, &block = launch.block;
  const std::int64_t plane = std::int64_t{block.x} * block.y;
  // Where a plane alone has too many, the product with the third dimension may not fit 64 bits.
  const std::int64_t threads = plane > kThreads ? plane : plane * block.z;
  if (threads > kThreads) return BeyondLimit{"the threads of a block are", threads, kThreads};
  if (block.z > kBlockZ) return BeyondLimit{"the block's third dimension is", block.z, kBlockZ};
  if (grid.y > kGridY) return BeyondLimit{"the grid's second dimension is", grid.y, kGridY};
  if (grid.z > kGridY) return BeyondLimit{"the grid's third dimension is", grid.z, kGridY};
  if (device.local_bytes != 0 && launch.shared_bytes > device.local_bytes) {
    return BeyondLimit{"the bytes of shared memory are", launch.shared_bytes, device.local_bytes};
  }
  return std::nullopt;
}

SearchSpace space_of(const ParsedDefinition& kernel, const DeviceIdentity& device) {
  std::vector<Parameter> parameters;
  parameters.reserve(kernel.definition.parameters.size());
  for (std::size_t i = 0; i < kernel.definition.parameters.size(); ++i) {
    const KernelDefinition::Tunable& tunable = kernel.definition.parameters[i];
    Parameter& parameter = parameters.emplace_back();
    parameter = {.name = tunable.name, .values = tunable.values, .meaning = tunable.meaning, .active = {}};
    if (!kernel.active[i]) continue;
    parameter.active = [active = *kernel.active[i], device](const Configuration& before) {
      return active.truth(names_of(&before, nullptr, &device));
    };
  }
  std::vector<Constraint> constraints;
  constraints.reserve(kernel.constraints.size());
  for (const Expression& holds : kernel.constraints) {
    Constraint& constraint = constraints.emplace_back();
    constraint.name = holds.text();
    // Known as soon as the last parameter is that it names; before the first if it names none.
    constraint.asks_no_parameter = true;
    for (const KernelDefinition::Tunable& tunable : kernel.definition.parameters) {
      const bool named = std::ranges::find(holds.names(), tunable.name) != holds.names().end();
      if (named) constraint.last = tunable.name;
      constraint.asks_no_parameter = constraint.asks_no_parameter && !named;
    }
    constraint.holds = [holds, name = kernel.definition.name](const Configuration& configuration,
                                                              const Problem& problem, const DeviceIdentity& where) {
      try {
        return holds.truth(names_of(&configuration, &problem, &where));
      } catch (const Error& error) {
        throw Error(ErrorKind::input, fmt::format("kernel {} at {}, a constraint, with '{}': {}", in_quotes(name),
                                                  problem.text(), configuration.text(), error.what()));
      }
    };
    foresee(kernel, constraint, holds);
  }
  for (const KernelDefinition::Condition& condition : kernel.definition.conditions) {
    if (!condition.holds) continue;  // a worker process, which is asked about configurations that are allowed
    Constraint& constraint = constraints.emplace_back();
    constraint.name = condition.name;
    constraint.holds = [holds = condition.holds](const Configuration& configuration, const Problem&,
                                                 const DeviceIdentity&) { return holds(configuration); };
  }
  if (runs_cuda_templates(device.backend)) constraints.push_back(launch_limits(kernel));
  return {device, std::move(parameters), std::move(constraints)};
}

Configuration default_configuration_of(const ParsedDefinition& kernel, const DeviceIdentity& device) {
  const std::string& untuned = kernel.code_for(device.backend).untuned;
  if (!untuned.empty()) return space_of(kernel, device).parse(untuned);
  std::vector<Configuration::Entry> entries;
  entries.reserve(kernel.definition.parameters.size());
  for (std::size_t i = 0; i < kernel.definition.parameters.size(); ++i) {
    const KernelDefinition::Tunable& tunable = kernel.definition.parameters[i];
    const Configuration before(entries);
    if (kernel.active[i] && !kernel.active[i]->truth(names_of(&before, nullptr, &device))) continue;
    entries.emplace_back(tunable.name, tunable.untuned.value_or(tunable.values.front()));
  }
  return Configuration(std::move(entries));
}

}  // namespace heddle
