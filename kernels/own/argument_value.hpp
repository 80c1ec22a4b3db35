// Arguments that a defined kernel takes by value: numbers, vectors of them, and structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/argument.hpp"
#include "heddle/kernels/expression/expression.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"

namespace heddle {

/// The expressions of an argument by value, read: that of a number, or those of a struct's members, in their order.
struct ArgumentExpressions {
  std::optional<Expression> number;
  std::vector<Expression> members;
};

/// What a launch passes. Throws Error(input) for a value that the type cannot hold.
[[nodiscard]] Argument value_of(const KernelArgument& argument, const ArgumentExpressions& expressions,
                                const Expression::Names& names);

/// The bytes of a struct that is given by them. Throws Error(input): no hexadecimal digits, more than 4096 bytes, or an
/// alignment that no type has.
[[nodiscard]] std::vector<std::byte> struct_bytes(const KernelArgument& argument);

/// Bytes of an argument by value, as a launch passes them.
[[nodiscard]] std::vector<std::byte> bytes_of(const Argument& argument);
/// An argument of the same type with other bytes; nothing if they are not as many.
[[nodiscard]] std::optional<Argument> with_bytes(const Argument& like, std::span<const std::byte> bytes);

/// "0000803f": two hexadecimal digits for each byte.
[[nodiscard]] std::string hexadecimal(std::span<const std::byte> bytes);
/// The bytes that such a text has; nothing for another text.
[[nodiscard]] std::optional<std::vector<std::byte>> bytes_in(std::string_view hexadecimal);

}  // namespace heddle
