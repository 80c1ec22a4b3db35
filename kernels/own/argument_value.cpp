#include "heddle/kernels/own/argument_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/number_types.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

constexpr std::size_t kLargestStruct = 4096;  // bytes of all parameters of a kernel, before CUDA 12.1
constexpr std::int64_t kLargestAlignment = 16;

/// Of a number: the value of `expression` in this type.
template <class Number>
Number number_of(const Expression& expression, const Expression::Names& names, ElementType type,
                 const std::string& name) {
  if constexpr (std::is_integral_v<Number>) {
    const std::int64_t number = expression.integer(names);
    if (!std::in_range<Number>(number)) {
      throw Error(ErrorKind::input, fmt::format("argument {}: {} is no {}", in_quotes(name), number, name_of(type)));
    }
    return static_cast<Number>(number);
  } else {
    return static_cast<Number>(expression.real(names));
  }
}

std::vector<std::byte> number_bytes(const Expression& expression, const Expression::Names& names, ElementType type,
                                    const std::string& name) {
  return with_number(type, [&](auto sample) {
    const auto number = number_of<decltype(sample)>(expression, names, type, name);
    std::vector<std::byte> bytes(sizeof number);
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
  });
}

void append(std::vector<std::byte>& to, const std::vector<std::byte>& bytes, int times) {
  for (int i = 0; i < times; ++i) to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Members in their order, each aligned to its type; the end is aligned to the strictest. What is between them is 0.
StructArgument laid_out(const KernelArgument& argument, const ArgumentExpressions& expressions,
                        const Expression::Names& names) {
  std::vector<std::byte> bytes;
  std::int64_t strictest = 1;
  const auto align = [&](std::int64_t to) {
    const auto unit = static_cast<std::size_t>(to);
    bytes.resize((bytes.size() + unit - 1) / unit * unit);
  };
  for (std::size_t i = 0; i < argument.fields.size(); ++i) {
    const KernelArgument::Field& field = argument.fields[i];
    const std::int64_t alignment = alignment_of({field.type, field.lanes});
    strictest = std::max(strictest, alignment);
    align(alignment);
    const std::string name = fmt::format("{}.{}", argument.name, field.name);
    append(bytes, number_bytes(expressions.members[i], names, field.type, name), field.lanes);
  }
  align(strictest);
  return {std::move(bytes), static_cast<std::size_t>(strictest)};
}

}  // namespace

Argument value_of(const KernelArgument& argument, const ArgumentExpressions& expressions,
                  const Expression::Names& names) {
  if (!argument.fields.empty()) return laid_out(argument, expressions, names);
  if (!argument.bytes.empty()) {
    return StructArgument(struct_bytes(argument), static_cast<std::size_t>(argument.alignment));
  }
  const Expression& value = *expressions.number;
  const auto number = [&](auto sample) {
    return number_of<decltype(sample)>(value, names, argument.type, argument.name);
  };
  if (argument.lanes == 1) {
    switch (argument.type) {
      case ElementType::int32:
        return number(std::int32_t{});
      case ElementType::uint32:
        return number(std::uint32_t{});
      case ElementType::int64:
        return number(std::int64_t{});
      case ElementType::uint64:
        return number(std::uint64_t{});
      case ElementType::float32:
        return number(float{});
      case ElementType::float64:
        return number(double{});
      default:  // launches have no types for other numbers, and pass their bytes
        break;
    }
  }
  std::vector<std::byte> bytes;
  append(bytes, number_bytes(value, names, argument.type, argument.name), argument.lanes);
  return StructArgument(std::move(bytes), static_cast<std::size_t>(alignment_of({argument.type, argument.lanes})));
}

std::vector<std::byte> struct_bytes(const KernelArgument& argument) {
  auto bytes = bytes_in(argument.bytes);
  if (!bytes || bytes->empty() || bytes->size() > kLargestStruct) {
    throw Error(ErrorKind::input,
                fmt::format("argument {}: the bytes of a struct are {}, expected two hexadecimal digits for each of 1 "
                            "to {}",
                            in_quotes(argument.name), in_quotes(argument.bytes), kLargestStruct));
  }
  const std::int64_t alignment = argument.alignment;
  if (alignment < 1 || alignment > kLargestAlignment || !std::has_single_bit(static_cast<std::uint64_t>(alignment)) ||
      bytes->size() % static_cast<std::size_t>(alignment) != 0) {
    throw Error(ErrorKind::input,
                fmt::format("argument {}: {} bytes cannot be aligned to {}, expected 1, 2, 4, 8 or 16 and a multiple "
                            "of it",
                            in_quotes(argument.name), bytes->size(), alignment));
  }
  return std::move(*bytes);
}

std::vector<std::byte> bytes_of(const Argument& argument) {
  return std::visit(
      [](const auto& value) {
        using Type = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Type, StructArgument>) {
          return value.bytes;
        } else {
          std::vector<std::byte> bytes(sizeof value);
          std::memcpy(bytes.data(), &value, sizeof value);
          return bytes;
        }
      },
      argument);
}

std::optional<Argument> with_bytes(const Argument& like, std::span<const std::byte> bytes) {
  if (bytes.size() != bytes_of(like).size()) return std::nullopt;
  return std::visit(
      [&](auto value) -> Argument {
        if constexpr (std::is_same_v<decltype(value), StructArgument>) {
          value.bytes.assign(bytes.begin(), bytes.end());
        } else {
          std::memcpy(&value, bytes.data(), sizeof value);
        }
        return value;
      },
      like);
}

std::string hexadecimal(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte each : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(each));
  return text;
}

std::optional<std::vector<std::byte>> bytes_in(std::string_view hexadecimal) {
  const auto digit = [](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
    return 16;
  };
  if (hexadecimal.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(hexadecimal.size() / 2);
  for (std::size_t i = 0; i < hexadecimal.size(); i += 2) {
    const unsigned high = digit(hexadecimal[i]), low = digit(hexadecimal[i + 1]);
    if (high > 15 || low > 15) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(16 * high + low));
  }
  return bytes;
}

}  // namespace heddle
