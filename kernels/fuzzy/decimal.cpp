#include "heddle/kernels/fuzzy/decimal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

namespace heddle::fuzzy {
namespace {

__extension__ using Wide = unsigned __int128;

/// More digits than any double has (767). If a text has still more that are not all 0, the last one here is a 1 in
/// their place, which changes no comparison with a double.
constexpr std::size_t kMostDigits = 800;

/// A number that is not negative: D.DDD... times 10^exponent, without zeros at the front and at the end. 0 has no
/// digits.
struct Decimal {
  std::array<char, kMostDigits> digit;  // only `count` of them are set
  std::size_t count = 0;
  std::int64_t exponent = 0;

  [[nodiscard]] std::string_view digits() const { return {digit.data(), count}; }
  void strip() {
    while (count > 0 && digit[count - 1] == '0') --count;
  }
};

/// Collects the digits of a number from left to right.
class Digits {
 public:
  explicit Digits(Decimal& decimal) : decimal_(decimal) {}

  void add(char digit) {
    any_ = true;
    if (decimal_.count == 0 && digit == '0') {
      if (fraction_) --decimal_.exponent;
      return;
    }
    if (decimal_.count > 0 && !fraction_) ++decimal_.exponent;
    if (decimal_.count == 0 && fraction_) --decimal_.exponent;
    if (decimal_.count < kMostDigits - 1) {
      decimal_.digit[decimal_.count++] = digit;
    } else {
      more_ = more_ || digit != '0';
    }
  }
  void point() { fraction_ = true; }
  /// Whether there was a digit at all.
  [[nodiscard]] bool finish() {
    if (more_) decimal_.digit[decimal_.count++] = '1';
    decimal_.strip();
    return any_;
  }

 private:
  Decimal& decimal_;
  bool fraction_ = false, any_ = false, more_ = false;
};

/// The whole number that `text` spells, cut off where no number of digits brings the result back into range.
std::optional<std::int64_t> read_exponent(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  constexpr std::int64_t kLimit = std::int64_t{1} << 56;
  std::int64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = std::min(kLimit, 10 * value + (c - '0'));
  }
  return negative ? -value : value;
}

/// Reads a number without a sign. False if `text` spells none.
bool read(std::string_view text, Decimal& decimal) {
  Digits digits(decimal);
  std::size_t i = 0;
  for (bool point = false; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.' && !point) {
      point = true;
      digits.point();
    } else if (is_digit(text[i])) {
      digits.add(text[i]);
    } else {
      return false;
    }
  }
  if (!digits.finish()) return false;
  if (i == text.size()) return true;
  const auto exponent = read_exponent(text.substr(i + 1));
  if (exponent) decimal.exponent += *exponent;
  return exponent.has_value();
}

/// All digits of a finite number above 0.
Decimal exact(double value) {
  Decimal decimal;
  std::array<char, kMostDigits> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific, 766).ptr;
  read({text.data(), static_cast<std::size_t>(end - text.data())}, decimal);
  return decimal;
}

constexpr int kMostScale = 22;

Wide power_of_ten(int n) {
  Wide power = 1;
  while (n-- > 0) power *= 10;
  return power;
}

/// `decimal` against a finite `value` above 0 that it is next to: what a decimal of few digits takes, in 128 bits.
/// Nothing if these do not hold it.
std::optional<std::strong_ordering> compare_small(const Decimal& decimal, double value) {
  const std::int64_t scale = decimal.exponent - static_cast<std::int64_t>(decimal.count) + 1;
  if (decimal.count > 19 || scale < -kMostScale || scale > 19) return std::nullopt;
  std::uint64_t whole = 0;
  for (const char c : decimal.digits()) whole = 10 * whole + static_cast<std::uint64_t>(c - '0');
  int exponent = 0;
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  exponent -= 53;
  // whole 10^scale against mantissa 2^exponent, each multiplied by what makes it a whole number. The two are about
  // equal, so if one side fits into 127 bits, so does the other.
  Wide left = whole, right = mantissa;
  scale < 0 ? right *= power_of_ten(static_cast<int>(-scale)) : left *= power_of_ten(static_cast<int>(scale));
  exponent < 0 ? left <<= -exponent : right <<= exponent;
  return left <=> right;
}

/// `decimal` against a finite `value` above 0 that is the closest there is.
std::strong_ordering compare(const Decimal& decimal, double value) {
  if (const auto small = compare_small(decimal, value)) return *small;
  const Decimal other = exact(value);
  if (decimal.exponent != other.exponent) return decimal.exponent <=> other.exponent;
  return decimal.digits() <=> other.digits();  // as words: none of them ends with a 0
}

/// The closest double, or infinity.
double closest(const Decimal& decimal) {
  constexpr std::int64_t kFar = 400;
  if (decimal.count == 0 || decimal.exponent < -kFar) return 0.0;
  if (decimal.exponent > kFar) return Traits<double>::infinity;
  constexpr std::size_t kExponent = 24;
  std::array<char, kMostDigits + kExponent> text;
  char* end = std::copy_n(decimal.digit.data(), decimal.count, text.data());
  *end++ = 'e';
  end = std::to_chars(end, text.data() + text.size(), decimal.exponent - static_cast<std::int64_t>(decimal.count) + 1)
            .ptr;
  double value = 0.0;
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range) return decimal.exponent > 0 ? Traits<double>::infinity : 0.0;
  return value;
}

Spelled spelled(const Decimal& decimal) {
  const double near = closest(decimal);
  if (decimal.count == 0) return {};
  const auto side = near == 0.0                        ? std::strong_ordering::greater
                    : near == Traits<double>::infinity ? std::strong_ordering::less
                                                       : compare(decimal, near);
  return {.down = side < 0 ? std::nextafter(near, 0.0) : near,
          .near = near,
          .up = side > 0 ? std::nextafter(near, Traits<double>::infinity) : near};
}

bool equals_ignoring_case(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

/// Whether a number is written as 0.00012 or 1200, and not with an exponent.
bool is_plain(std::int64_t exponent) { return exponent >= -5 && exponent <= 15; }

void append(std::string& to, const Decimal& decimal) {
  const std::string_view digits = decimal.digits();
  if (digits.empty()) {
    to += '0';
  } else if (!is_plain(decimal.exponent)) {
    to += digits.front();
    if (digits.size() > 1) to.append(".").append(digits.substr(1));
    to.append("e").append(std::to_string(decimal.exponent));
  } else if (decimal.exponent < 0) {
    to.append("0.").append(static_cast<std::size_t>(-decimal.exponent - 1), '0').append(digits);
  } else {
    const std::size_t whole = static_cast<std::size_t>(decimal.exponent) + 1;
    to.append(digits.substr(0, whole));
    if (digits.size() < whole) to.append(whole - digits.size(), '0');
    if (digits.size() > whole) to.append(".").append(digits.substr(whole));
  }
}

/// The decimal one unit of its last digit further away from 0 or closer to it.
void step(Decimal& decimal, bool away) {
  std::size_t i = decimal.count;
  const char last = away ? '9' : '0', first = away ? '0' : '9';
  while (i > 0 && decimal.digit[i - 1] == last) decimal.digit[--i] = first;
  if (i > 0) {
    decimal.digit[i - 1] = static_cast<char>(decimal.digit[i - 1] + (away ? 1 : -1));
    if (!away && decimal.digit[0] == '0') {  // 1000 to 0999
      std::copy(decimal.digit.begin() + 1, decimal.digit.begin() + static_cast<std::ptrdiff_t>(decimal.count),
                decimal.digit.begin());
      --decimal.count;
      --decimal.exponent;
    }
  } else if (away) {  // 9999 to 10000
    decimal.digit[0] = '1';
    decimal.count = 1;
    ++decimal.exponent;
  }
  decimal.strip();
}

template <class T>
Decimal shortest(T value) {
  Decimal decimal;
  std::array<char, 40> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific).ptr;
  read({text.data(), static_cast<std::size_t>(end - text.data())}, decimal);
  return decimal;
}

/// Rounds `value` to as many digits as T can need.
template <class T>
Decimal longest(T value) {
  constexpr int kDigits = std::numeric_limits<T>::max_digits10;
  Decimal decimal;
  std::array<char, 40> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific, kDigits - 1).ptr;
  read({text.data(), static_cast<std::size_t>(end - text.data())}, decimal);
  // Zeros at the end are digits that step() may change.
  while (decimal.count < static_cast<std::size_t>(kDigits)) decimal.digit[decimal.count++] = '0';
  return decimal;
}

/// Appends sign and infinity; what is left is a finite number above 0, or nothing.
template <class T>
std::optional<T> append_simple(std::string& to, T value) {
  if (value == T(0)) {
    to += '0';
    return std::nullopt;
  }
  if (value < T(0)) to += '-';
  if (magnitude(value) == Traits<T>::infinity) {
    to += "inf";
    return std::nullopt;
  }
  return magnitude(value);
}

template <class T>
void append_directed(std::string& to, T value, bool upwards) {
  const auto size = append_simple(to, value);
  if (!size) return;
  const bool away = upwards == (value > T(0));
  const auto wrong = [&](const Decimal& decimal) {
    const auto side = compare(decimal, static_cast<double>(*size));
    return away ? side < 0 : side > 0;
  };
  Decimal decimal = shortest(*size);
  if (wrong(decimal)) {
    decimal = longest(*size);
    if (wrong(decimal)) {
      step(decimal, away);
    } else {
      decimal.strip();
    }
  }
  append(to, decimal);
}

}  // namespace

std::optional<Spelled> read_decimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  Spelled number;
  if (equals_ignoring_case(text, "inf") || equals_ignoring_case(text, "infinity")) {
    number = {Traits<double>::infinity, Traits<double>::infinity, Traits<double>::infinity};
  } else {
    Decimal decimal;
    if (!read(text, decimal)) return std::nullopt;
    number = spelled(decimal);
  }
  return negative ? Spelled{-number.up, -number.near, -number.down} : number;
}

template <class T>
void append_down(std::string& to, T value) {
  append_directed(to, value, false);
}
template <class T>
void append_up(std::string& to, T value) {
  append_directed(to, value, true);
}
template <class T>
bool append_near(std::string& to, T value) {
  const auto size = append_simple(to, value);
  if (!size) return true;
  const Decimal decimal = shortest(*size);
  append(to, decimal);
  return compare(decimal, static_cast<double>(*size)) == 0;
}

template void append_down(std::string&, float);
template void append_down(std::string&, double);
template void append_up(std::string&, float);
template void append_up(std::string&, double);
template bool append_near(std::string&, float);
template bool append_near(std::string&, double);

}  // namespace heddle::fuzzy
