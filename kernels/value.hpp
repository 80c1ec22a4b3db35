// The values of a search space's parameters, and how they are written.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle {

/// An integer, a real (finite), a truth value, or a word. 1 and 1.0 are different values.
using Value = std::variant<std::int64_t, double, bool, std::string>;

/// The values of a parameter, as the source of a search space lists them.
[[nodiscard]] std::vector<Value> numbers(std::initializer_list<std::int64_t> list);
[[nodiscard]] std::vector<Value> words(std::initializer_list<const char*> list);

/// The canonical text: "128"; "0.5", "1.0", "1e-07", the shortest that reads as the same real; "true"; "graph". A word
/// is in quotes only where it would otherwise be mistaken: if it is empty, reads as a value of another kind, or has
/// spaces, quotes or control characters. Different values have different texts.
[[nodiscard]] std::string text(const Value& value);
/// The value whose text() this is; what no other kind has is a word. Throws Error(input) if quotes are not closed.
[[nodiscard]] Value parse_value(std::string_view text);

/// How much of `text` is its first value: up to the first space that is not in quotes.
[[nodiscard]] std::size_t length_of_value(std::string_view text);

/// An integer, a real, or 0 and 1 for a truth value; nothing for a word.
[[nodiscard]] std::optional<double> as_number(const Value& value);

/// A number, true, false or a string. A real stays one: 1.0 is written as such.
[[nodiscard]] nlohmann::json json_of(const Value& value);
/// Reads json_of(). Throws Error(input) for anything else, and for integers beyond 64 bits.
[[nodiscard]] Value value_from(const nlohmann::json& json);

}  // namespace heddle
