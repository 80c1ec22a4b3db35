#include "heddle/kernels/expression/item.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace heddle {

namespace {

constexpr std::size_t kMostShown = 8;  // elements of a list in a message

std::string shown_real(double real) {
  if (std::isnan(real)) return "nan";
  if (std::isinf(real)) return real > 0 ? "inf" : "-inf";
  return text(Value(real));
}

/// Of lists inside the list only that they are there: all of them could be too long for any message.
std::string shown_list(const std::vector<Item>& list) {
  std::string all = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) all += ", ";
    if (i == kMostShown) {
      all += "...";
      break;
    }
    const auto* const inner = std::get_if<ItemList>(&list[i].held);
    all += inner != nullptr && !(*inner)->empty() ? "[...]" : shown(list[i]);
  }
  return all + "]";
}

}  // namespace

const std::int64_t* integer_of(const Item& item) noexcept {
  static constexpr std::array<std::int64_t, 2> kTruth{0, 1};
  if (const bool* const truth = std::get_if<bool>(&item.held)) return &kTruth[*truth ? 1 : 0];
  return std::get_if<std::int64_t>(&item.held);
}

bool is_number(const Item& item) noexcept {
  return integer_of(item) != nullptr || std::holds_alternative<double>(item.held);
}

double real_of(const Item& item) noexcept {
  if (const std::int64_t* const whole = integer_of(item)) return static_cast<double>(*whole);
  const double* const real = std::get_if<double>(&item.held);
  return real != nullptr ? *real : 0.0;
}

bool is_true(const Item& item) noexcept { return is_number(item) ? real_of(item) != 0.0 : length_of(item) != 0; }

std::int64_t length_of(const Item& item) noexcept {
  if (const auto* const range = std::get_if<ItemRange>(&item.held)) return range->count;
  if (const auto* const list = std::get_if<ItemList>(&item.held)) return static_cast<std::int64_t>((*list)->size());
  const std::string* const word = std::get_if<std::string>(&item.held);
  if (word == nullptr) return 0;
  // Bytes of UTF-8 that do not continue a character.
  return std::count_if(word->begin(), word->end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; });
}

Item item_of(const Value& value) {
  return std::visit([](const auto& held) { return Item{held}; }, value);
}

const char* kind_of(const Item& item) noexcept {
  static constexpr std::array<const char*, 6> kKinds{"int", "float", "bool", "str", "list", "range"};
  return kKinds[item.held.index()];
}

std::string shown(const Item& item) {
  if (const auto* const truth = std::get_if<bool>(&item.held)) return *truth ? "True" : "False";
  if (const auto* const whole = std::get_if<std::int64_t>(&item.held)) return std::to_string(*whole);
  if (const auto* const real = std::get_if<double>(&item.held)) return shown_real(*real);
  if (const auto* const word = std::get_if<std::string>(&item.held)) return fmt::format("'{}'", *word);
  if (const auto* const list = std::get_if<ItemList>(&item.held)) return shown_list(**list);
  const auto& range = std::get<ItemRange>(item.held);
  return fmt::format("a range of {}", range.count);
}

}  // namespace heddle
