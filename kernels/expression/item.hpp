// The values that expressions compute with: those of the small part of Python that they are written in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "heddle/kernels/value.hpp"

namespace heddle {

struct Item;
/// Shared: a list never changes once it is made.
using ItemList = std::shared_ptr<const std::vector<Item>>;

/// What range() returns: start, start + step, ..., `count` numbers, all of 64 bits. Takes no memory for them.
struct ItemRange {
  std::int64_t start = 0, step = 1, count = 0;

  [[nodiscard]] std::int64_t at(std::int64_t index) const { return start + index * step; }
};

/// An integer, a real (infinities and not-a-number included), a truth value, a text, a list or a range.
struct Item {
  std::variant<std::int64_t, double, bool, std::string, ItemList, ItemRange> held;
};

/// The integer that it is; True and False are 1 and 0, as in Python. Null if it is none.
[[nodiscard]] const std::int64_t* integer_of(const Item& item) noexcept;
/// Whether it is an integer, a truth value or a real.
[[nodiscard]] bool is_number(const Item& item) noexcept;
/// The number as a real. Needs is_number().
[[nodiscard]] double real_of(const Item& item) noexcept;
/// False for 0, 0.0, False and what is empty.
[[nodiscard]] bool is_true(const Item& item) noexcept;
/// Characters of a text, elements of a list or a range. Needs one of these.
[[nodiscard]] std::int64_t length_of(const Item& item) noexcept;

[[nodiscard]] Item item_of(const Value& value);
/// "int", "float", "bool", "str", "list", "range": Python's names.
[[nodiscard]] const char* kind_of(const Item& item) noexcept;
/// As Python's repr() shows it; of a list the beginning.
[[nodiscard]] std::string shown(const Item& item);

}  // namespace heddle
