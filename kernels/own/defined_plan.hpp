// The plans of a defined kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/kernel_instance.hpp"
#include "heddle/kernels/own/example.hpp"
#include "heddle/kernels/own/parsed_definition.hpp"
#include "heddle/kernels/plan.hpp"

namespace heddle {

/// All throw Error(input) for expressions that have no value, or one that is none of a launch.
///
/// One to three sizes. `of`: what they are sizes of, for the message.
[[nodiscard]] Extent extent_of(const std::vector<Expression>& sizes, const Expression::Names& names, const char* of);

[[nodiscard]] KernelInstance instance_of(const ParsedDefinition::Code& code, const Configuration& configuration,
                                         const Expression::Names& names);

/// Of a buffer, by the index of its argument.
[[nodiscard]] std::int64_t bytes_of(const ParsedDefinition& kernel, std::size_t argument,
                                    const Expression::Names& names);
[[nodiscard]] std::vector<Buffer> buffers_of(const ParsedDefinition& kernel, const Expression::Names& names);

/// A plan of one launch, without its kernels. `numbers`: those of a call; none: what the definition says.
[[nodiscard]] Plan launch_plan(const ParsedDefinition& kernel, const ParsedDefinition::Code& code,
                               const Expression::Names& names, const KernelNumbers& numbers);
/// The same of the reference kernel, by the language of its code.
[[nodiscard]] Plan reference_plan(const ParsedDefinition& kernel,
                                  const std::pair<const std::string, ParsedDefinition::Code>& reference,
                                  const Expression::Names& names, const KernelNumbers& numbers);

}  // namespace heddle
