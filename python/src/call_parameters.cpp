#include "call_parameters.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "heddle/kernels/own/argument_value.hpp"
#include "heddle/kernels/own/number_types.hpp"

namespace heddle::python {

CallParameters::CallParameters(const DefinedFamily& family, const DeviceIdentity& device) {
  const Problem problem = family.awkward_problem();
  const Plan plan = family.plan(family.default_configuration(device, problem), problem, device, 1);
  require_one_kernel(plan);
  const std::vector<Argument>& values = plan.launches.front().arguments;
  std::vector<const KernelArgument*> constants;
  for (const KernelArgument& each : family.definition().arguments) {
    if (each.is_buffer() && !each.passed) {
      constants.push_back(&each);
      continue;
    }
    const std::size_t i = all.size();
    if (i >= values.size() || i >= LoadedKernel::kMostArguments) break;  // the kernel is refused when it is loaded
    Parameter parameter{
        .name = each.name, .is_buffer = each.is_buffer(), .role = each.role, .type = each.type, .lanes = each.lanes};
    CallType type{.kind = values[i].index(), .read_only = false, .bytes = 0, .alignment = 1};
    if (const auto* const bytes = std::get_if<StructArgument>(&values[i])) {
      type.bytes = bytes->bytes.size();
      type.alignment = bytes->alignment;
    }
    parameter.bytes = each.is_buffer() ? sizeof(void*) : heddle::bytes_of(values[i]).size();
    parameter.is_number = !each.is_buffer() && !each.is_struct() && each.lanes == 1;
    add(std::move(parameter), type);
  }
  // What goes to constant memory alone comes behind what the kernel takes, as an address like other arrays.
  for (const KernelArgument* const each : constants) {
    if (all.size() >= LoadedKernel::kMostArguments) break;
    add({.name = each->name,
         .is_buffer = true,
         .role = each->role,
         .type = each->type,
         .lanes = each->lanes,
         .bytes = sizeof(void*)},
        {.kind = Argument(BufferArgument{}).index(), .read_only = true});
  }
  for (const Axis& axis : family.axes()) find_size(family, axis);
}

std::vector<std::string> CallParameters::names() const {
  std::vector<std::string> names;
  for (const Parameter& each : all) names.push_back(each.name);
  return names;
}

void CallParameters::add(Parameter parameter, const CallType& type) {
  constexpr std::size_t kAlignment = 16;
  parameter.offset = bytes;
  bytes += (parameter.bytes + kAlignment - 1) / kAlignment * kAlignment;
  all.push_back(std::move(parameter));
  types.push_back(type);
}

void CallParameters::find_size(const DefinedFamily& family, const Axis& axis) {
  SizeSource source;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& argument = *std::ranges::find(family.definition().arguments, all[i].name, &KernelArgument::name);
    if (argument.is_buffer() && argument.elements == axis.name && !source.argument) source.argument = i;
    if (all[i].is_number && !is_real(argument.type) && argument.value == axis.name) source.numbers.push_back(i);
  }
  if (!source.numbers.empty()) source.argument = source.numbers.front();
  size_sources.push_back(std::move(source));
}

}  // namespace heddle::python
