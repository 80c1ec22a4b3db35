#include "heddle/kernels/own/defined_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/argument_value.hpp"
#include "heddle/kernels/own/element_type.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

constexpr std::int64_t kLargestBuffer = std::int64_t{1} << 40;  // bytes; a size beyond it is a mistake

/// With these arguments, by their indices. `named`: somebody asked for them, so that a buffer which otherwise is only
/// in constant memory is passed as well.
Plan plan_of(const ParsedDefinition& kernel, const ParsedDefinition::Code& code, const Expression::Names& names,
             const std::vector<std::size_t>& arguments, const KernelNumbers& numbers, bool named) {
  Plan plan;
  Launch launch{
      .grid = extent_of(code.grid, names, "grid"), .block = extent_of(code.block, names, "block"), .arguments = {}};
  launch.shared_bytes = code.shared_bytes->integer(names);
  if (launch.shared_bytes < 0) {
    throw Error(ErrorKind::input, fmt::format("shared_bytes {} is {}, expected 0 or more",
                                              in_quotes(code.shared_bytes->text()), launch.shared_bytes));
  }
  plan.buffers = buffers_of(kernel, names);
  std::vector<int> buffers;  // of each argument
  buffers.reserve(kernel.arguments.size());
  int count = 0;
  for (const KernelArgument& argument : kernel.definition.arguments) {
    buffers.push_back(count);
    if (argument.is_buffer()) ++count;
  }
  for (const std::size_t i : arguments) {
    const KernelArgument& argument = kernel.definition.arguments[i];
    if (!argument.is_buffer()) {
      launch.arguments.push_back(value_of(argument, kernel.arguments[i].by_value, names));
      if (const auto given = numbers.find(argument.name); given != numbers.end()) {
        if (const auto called = with_bytes(launch.arguments.back(), given->second)) launch.arguments.back() = *called;
      }
    } else if (argument.passed || named) {
      launch.arguments.push_back(BufferArgument{.buffer = buffers[i], .offset = 0});
    }
  }
  plan.launches = {std::move(launch)};
  plan.samples = 1;
  return plan;
}

}  // namespace

Extent extent_of(const std::vector<Expression>& sizes, const Expression::Names& names, const char* of) {
  Extent extent;
  unsigned* const to[] = {&extent.x, &extent.y, &extent.z};
  for (std::size_t i = 0; i < std::min(sizes.size(), std::size(to)); ++i) {
    const std::int64_t size = sizes[i].integer(names);
    if (size < 1 || size > std::numeric_limits<std::int32_t>::max()) {
      throw Error(ErrorKind::input, fmt::format("{} {} is {}, expected 1 to {}", of, in_quotes(sizes[i].text()), size,
                                                std::numeric_limits<std::int32_t>::max()));
    }
    *to[i] = static_cast<unsigned>(size);
  }
  return extent;
}

KernelInstance instance_of(const ParsedDefinition::Code& code, const Configuration& configuration,
                           const Expression::Names& names) {
  std::vector<KernelInstance::Definition> definitions;
  if (code.has_macros) {
    for (const auto& [parameter, value] : configuration.entries()) definitions.emplace_back(parameter, text(value));
    for (const auto& [macro, value] : code.macros) definitions.emplace_back(macro, text(value.value(names)));
  }
  return {code.name.filled(names), std::move(definitions)};
}

std::int64_t bytes_of(const ParsedDefinition& kernel, std::size_t argument, const Expression::Names& names) {
  const std::int64_t elements = kernel.arguments[argument].elements->integer(names);
  if (elements < 0 || elements > kLargestBuffer) {
    throw Error(
        ErrorKind::input,
        fmt::format("kernel {}: argument {} has {} elements, expected 0 to {}", in_quotes(kernel.definition.name),
                    in_quotes(kernel.definition.arguments[argument].name), elements, kLargestBuffer));
  }
  return elements * size_of(kernel.definition.arguments[argument].type) * kernel.definition.arguments[argument].lanes;
}

std::vector<Buffer> buffers_of(const ParsedDefinition& kernel, const Expression::Names& names) {
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    const KernelArgument& argument = kernel.definition.arguments[i];
    if (!argument.is_buffer()) continue;
    buffers.push_back(
        {.name = argument.name, .bytes = bytes_of(kernel, i, names), .role = argument.role, .symbol = argument.symbol});
  }
  return buffers;
}

Plan launch_plan(const ParsedDefinition& kernel, const ParsedDefinition::Code& code, const Expression::Names& names,
                 const KernelNumbers& numbers) {
  return plan_of(kernel, code, names, kernel.kernel_arguments, numbers, false);
}

Plan reference_plan(const ParsedDefinition& kernel,
                    const std::pair<const std::string, ParsedDefinition::Code>& reference,
                    const Expression::Names& names, const KernelNumbers& numbers) {
  const auto& [language, code] = reference;
  const std::vector<std::string>& named = kernel.definition.reference.arguments;
  Plan plan = plan_of(kernel, code, names, kernel.reference_arguments, numbers, !named.empty());
  const std::string& text = kernel.definition.reference.code.at(language).text;
  const auto own = kernel.definition.code.find(language);
  if (own != kernel.definition.code.end() && text == own->second.text) return plan;
  // A source of its own may take constant memory as an ordinary argument, or do without.
  for (Buffer& buffer : plan.buffers) {
    const std::string variable = buffer.symbol.substr(buffer.symbol.rfind(':') + 1);  // npos + 1 is 0
    const bool taken = std::ranges::find(named, buffer.name) != named.end();
    if (taken || text.find(variable) == std::string::npos) buffer.symbol.clear();
  }
  return plan;
}

}  // namespace heddle
