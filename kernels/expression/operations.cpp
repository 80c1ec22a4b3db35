#include "heddle/kernels/expression/operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "heddle/kernels/expression/numbers.hpp"

namespace heddle {

namespace {

constexpr std::size_t kLongestText = 2000;  // bytes
constexpr std::int64_t kTextStep = 16;      // bytes of a text that are copied or compared in a step

[[noreturn]] void not_taken(std::string_view sign, const Item& left, const Item& right) {
  throw OperationError(fmt::format("{} does not take {} ({}) and {} ({})", sign, kind_of(left), shown(left),
                                   kind_of(right), shown(right)));
}

const std::string* text_of(const Item& item) { return std::get_if<std::string>(&item.held); }
const ItemList* list_of(const Item& item) { return std::get_if<ItemList>(&item.held); }
const ItemRange* range_of(const Item& item) { return std::get_if<ItemRange>(&item.held); }

Item made_text(std::string word) {
  if (word.size() > kLongestText) throw OperationError("a text longer than 2000 bytes");
  return {std::move(word)};
}
Item made_list(std::vector<Item> elements) { return {std::make_shared<const std::vector<Item>>(std::move(elements))}; }

std::int64_t whole_argument(std::string_view of, const Item& item) {
  if (const std::int64_t* const whole = integer_of(item)) return *whole;
  throw OperationError(fmt::format("{} takes integers, found {}", of, shown(item)));
}

std::int64_t copy_steps_of(const std::vector<Item>& list) {
  std::int64_t steps = 0;
  for (const Item& each : list) steps += copy_steps(each);
  return steps;
}

Item joined(const Item& left, const Item& right, StepMeter& meter) {
  if (text_of(left) != nullptr && text_of(right) != nullptr) {
    meter.take(copy_steps(left) + copy_steps(right));
    return made_text(*text_of(left) + *text_of(right));
  }
  if (list_of(left) == nullptr || list_of(right) == nullptr) not_taken("+", left, right);
  meter.take(copy_steps_of(**list_of(left)) + copy_steps_of(**list_of(right)));
  std::vector<Item> all = **list_of(left);
  all.insert(all.end(), (*list_of(right))->begin(), (*list_of(right))->end());
  return made_list(std::move(all));
}

/// A text or a list, so many times.
Item repeated(const Item& what, const Item& times, StepMeter& meter) {
  const std::int64_t count = std::max<std::int64_t>(0, *integer_of(times));
  const std::int64_t steps =
      text_of(what) != nullptr ? static_cast<std::int64_t>(text_of(what)->size()) : copy_steps_of(**list_of(what));
  std::int64_t total = 0;
  if (__builtin_mul_overflow(steps, count, &total)) throw OperationError("too long");
  if (total == 0) return text_of(what) != nullptr ? Item{std::string()} : made_list({});
  meter.take(total);
  if (const std::string* const word = text_of(what)) {
    std::string all;
    for (std::int64_t i = 0; i < count; ++i) all += *word;
    return made_text(std::move(all));
  }
  std::vector<Item> all;
  all.reserve((**list_of(what)).size() * static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) all.insert(all.end(), (*list_of(what))->begin(), (*list_of(what))->end());
  return made_list(std::move(all));
}

bool equal_items(const Item& a, const Item& b, StepMeter& meter) {
  meter.take();
  if (is_number(a) && is_number(b)) return order_of_numbers(a, b) == std::partial_ordering::equivalent;
  if (text_of(a) != nullptr && text_of(b) != nullptr) {
    meter.take(static_cast<std::int64_t>(text_of(a)->size()) / kTextStep);
    return *text_of(a) == *text_of(b);
  }
  if (const ItemRange* const left = range_of(a), * const right = range_of(b); left != nullptr && right != nullptr) {
    if (left->count != right->count || left->count == 0) return left->count == right->count;
    return left->start == right->start && (left->count == 1 || left->step == right->step);
  }
  if (list_of(a) == nullptr || list_of(b) == nullptr) return false;
  const std::vector<Item>&left = **list_of(a), &right = **list_of(b);
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!equal_items(left[i], right[i], meter)) return false;
  }
  return true;
}

bool holds(std::string_view sign, std::partial_ordering order) {
  if (sign == "<") return order < 0;
  if (sign == "<=") return order <= 0;
  if (sign == ">") return order > 0;
  return order >= 0;
}

bool ordered(std::string_view sign, const Item& a, const Item& b, StepMeter& meter) {
  meter.take();
  if (is_number(a) && is_number(b)) return holds(sign, order_of_numbers(a, b));
  if (text_of(a) != nullptr && text_of(b) != nullptr) {
    meter.take(static_cast<std::int64_t>(text_of(a)->size()) / kTextStep);
    return holds(sign, text_of(a)->compare(*text_of(b)) <=> 0);  // UTF-8 has the order of its characters
  }
  if (list_of(a) == nullptr || list_of(b) == nullptr) not_taken(sign, a, b);
  const std::vector<Item>&left = **list_of(a), &right = **list_of(b);
  const std::size_t both = std::min(left.size(), right.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (!equal_items(left[i], right[i], meter)) return ordered(sign, left[i], right[i], meter);
  }
  return holds(sign, left.size() <=> right.size());
}

bool contains(const Item& sequence, const Item& wanted, StepMeter& meter) {
  if (const std::string* const word = text_of(sequence)) {
    if (text_of(wanted) == nullptr) not_taken("in", wanted, sequence);
    meter.take(static_cast<std::int64_t>(word->size()) / kTextStep);
    return word->find(*text_of(wanted)) != std::string::npos;
  }
  if (const ItemRange* const range = range_of(sequence)) {
    if (!is_number(wanted)) return false;
    const std::int64_t* whole = integer_of(wanted);
    std::int64_t held = 0;
    if (whole == nullptr) {
      const double real = real_of(wanted);
      if (!(real >= -0x1p63 && real < 0x1p63) || real != std::floor(real)) return false;
      held = static_cast<std::int64_t>(real);
      whole = &held;
    }
    if (range->count == 0) return false;
    const std::int64_t first = range->start, last = range->at(range->count - 1);
    if (*whole < std::min(first, last) || *whole > std::max(first, last)) return false;
    // Unsigned: the difference may need all 64 bits.
    const std::uint64_t far = *whole >= first ? static_cast<std::uint64_t>(*whole) - static_cast<std::uint64_t>(first)
                                              : static_cast<std::uint64_t>(first) - static_cast<std::uint64_t>(*whole);
    const std::uint64_t step =
        range->step > 0 ? static_cast<std::uint64_t>(range->step) : 0 - static_cast<std::uint64_t>(range->step);
    return far % step == 0;
  }
  if (list_of(sequence) == nullptr) not_taken("in", wanted, sequence);
  return std::ranges::any_of(**list_of(sequence), [&](const Item& each) { return equal_items(each, wanted, meter); });
}

/// Python's range(): the numbers have to be of 64 bits, and so does how many they are.
Item made_range(const std::vector<Item>& arguments) {
  ItemRange range;
  const bool from = arguments.size() > 1;
  if (from) range.start = whole_argument("range", arguments[0]);
  const std::int64_t stop = whole_argument("range", arguments[from ? 1 : 0]);
  if (arguments.size() > 2) range.step = whole_argument("range", arguments[2]);
  if (range.step == 0) throw OperationError("range with a step of 0");
  if (range.step > 0 ? range.start >= stop : range.start <= stop) return {range};
  std::int64_t span = 0, count = 0;
  const bool overflow = __builtin_sub_overflow(stop, range.start, &span);
  // Rounded up; the first number is one of them.
  if (overflow || __builtin_add_overflow((span - (range.step > 0 ? 1 : -1)) / range.step, 1, &count)) {
    throw OperationError("a range of too many numbers");
  }
  range.count = count;
  return {range};
}

Item absolute(const Item& number) {
  if (const std::int64_t* const whole = integer_of(number)) {
    return *whole < 0 ? of_integers("-", 0, *whole) : Item{*whole};
  }
  if (is_number(number)) return {std::abs(real_of(number))};
  throw OperationError(fmt::format("abs takes a number, found {}", shown(number)));
}

Item converted(std::string_view name, const Item& item) {
  if (!is_number(item)) throw OperationError(fmt::format("{} takes a number, found {}", name, shown(item)));
  if (name == "float") return {real_of(item)};
  if (const std::int64_t* const whole = integer_of(item)) return {*whole};
  return {truncated(real_of(item))};
}

/// min() and max(): the first of those that none goes before.
Item extreme(std::string_view name, const std::vector<Item>& arguments, StepMeter& meter) {
  const std::vector<Item> all = arguments.size() == 1 ? elements_of(arguments.front(), meter) : arguments;
  if (all.empty()) throw OperationError(fmt::format("{} of nothing", name));
  const Item* best = &all.front();
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (ordered(name == "min" ? "<" : ">", all[i], *best, meter)) best = &all[i];
  }
  return *best;
}

Item total(const std::vector<Item>& arguments, StepMeter& meter) {
  Item sum = arguments.size() > 1 ? arguments[1] : Item{std::int64_t{0}};
  if (text_of(sum) != nullptr) throw OperationError("sum does not join texts");
  for (const Item& each : elements_of(arguments.front(), meter)) sum = binary_operation("+", sum, each, meter);
  return sum;
}

Item rounded_up(std::string_view name, const std::vector<Item>& arguments) {
  const std::int64_t a = whole_argument(name, arguments[0]), b = whole_argument(name, arguments[1]);
  // Rounding up is rounding the negative down.
  const std::int64_t down = std::get<std::int64_t>(of_integers("//", a, b).held);
  const bool whole = std::get<std::int64_t>(of_integers("%", a, b).held) == 0;
  const Item up = of_integers("+", down, whole ? 0 : 1);
  return name == "ceil_div" ? up : of_integers("*", std::get<std::int64_t>(up.held), b);
}

}  // namespace

std::int64_t copy_steps(const Item& item) noexcept {
  const std::string* const word = text_of(item);
  return 1 + (word == nullptr ? 0 : static_cast<std::int64_t>(word->size()) / kTextStep);
}

Item unary_operation(std::string_view sign, const Item& operand) {
  if (sign == "not") return {!is_true(operand)};
  if (const std::int64_t* const whole = integer_of(operand)) {
    return sign == "-" ? of_integers("-", 0, *whole) : Item{*whole};
  }
  if (is_number(operand)) return {sign == "-" ? -real_of(operand) : real_of(operand)};
  throw OperationError(fmt::format("{} takes a number, found {}", sign, shown(operand)));
}

Item binary_operation(std::string_view sign, const Item& left, const Item& right, StepMeter& meter) {
  meter.take();
  if (is_number(left) && is_number(right)) {
    const std::int64_t *const a = integer_of(left), *const b = integer_of(right);
    return a != nullptr && b != nullptr ? of_integers(sign, *a, *b) : of_reals(sign, real_of(left), real_of(right));
  }
  if (sign == "+") return joined(left, right, meter);
  const auto repeats = [](const Item& what, const Item& times) {
    return (text_of(what) != nullptr || list_of(what) != nullptr) && integer_of(times) != nullptr;
  };
  if (sign == "*" && repeats(left, right)) return repeated(left, right, meter);
  if (sign == "*" && repeats(right, left)) return repeated(right, left, meter);
  not_taken(sign, left, right);
}

bool compare(std::string_view sign, const Item& left, const Item& right, StepMeter& meter) {
  if (sign == "==") return equal_items(left, right, meter);
  if (sign == "!=") return !equal_items(left, right, meter);
  if (sign == "in") return contains(right, left, meter);
  if (sign == "not in") return !contains(right, left, meter);
  return ordered(sign, left, right, meter);
}

Item element_of(const Item& sequence, const Item& index, StepMeter& meter) {
  meter.take();
  if (is_number(sequence)) throw OperationError(fmt::format("{} has no elements", shown(sequence)));
  std::int64_t at = whole_argument("an index", index);
  const std::int64_t length = length_of(sequence);
  if (at < 0) at += length;
  if (at < 0 || at >= length) {
    throw OperationError(fmt::format("index {} of a sequence of {}", shown(index), length));
  }
  if (const ItemRange* const range = range_of(sequence)) return {range->at(at)};
  if (const ItemList* const list = list_of(sequence)) {
    const Item& element = (**list)[static_cast<std::size_t>(at)];
    meter.take(copy_steps(element));
    return element;
  }
  return elements_of(sequence, meter)[static_cast<std::size_t>(at)];
}

std::vector<Item> elements_of(const Item& sequence, StepMeter& meter) {
  if (is_number(sequence)) throw OperationError(fmt::format("{} has no elements", shown(sequence)));
  if (const ItemList* const list = list_of(sequence)) {
    meter.take(copy_steps_of(**list));
    return **list;
  }
  const std::int64_t length = length_of(sequence);
  meter.take(length);
  std::vector<Item> all;
  all.reserve(static_cast<std::size_t>(length));
  if (const ItemRange* const range = range_of(sequence)) {
    for (std::int64_t i = 0; i < length; ++i) all.push_back({range->at(i)});
    return all;
  }
  const std::string& word = *text_of(sequence);
  for (std::size_t at = 0; at < word.size();) {
    std::size_t end = at + 1;
    while (end < word.size() && (static_cast<unsigned char>(word[end]) & 0xc0U) == 0x80U) ++end;
    all.push_back({word.substr(at, end - at)});
    at = end;
  }
  return all;
}

Item call_function(std::string_view name, const std::vector<Item>& arguments, StepMeter& meter) {
  meter.take();
  if (name == "abs") return absolute(arguments.front());
  if (name == "bool") return {is_true(arguments.front())};
  if (name == "int" || name == "float") return converted(name, arguments.front());
  if (name == "min" || name == "max") return extreme(name, arguments, meter);
  if (name == "range") return made_range(arguments);
  if (name == "sum") return total(arguments, meter);
  if (name == "list") return made_list(elements_of(arguments.front(), meter));
  if (name == "ceil_div" || name == "round_up") return rounded_up(name, arguments);
  if (is_number(arguments.front())) throw OperationError(fmt::format("{} has no length", shown(arguments.front())));
  return {length_of(arguments.front())};  // len
}

}  // namespace heddle
