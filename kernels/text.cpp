#include "heddle/kernels/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace heddle {
namespace {

unsigned byte_at(std::string_view text, std::size_t index) { return static_cast<unsigned char>(text[index]); }

/// One code point; a length of 0: the first byte begins no valid UTF-8.
struct Decoded {
  std::uint32_t point = 0;
  std::size_t length = 0;
};

/// `text` is not empty. Overlong forms, surrogates and what lies beyond U+10FFFF are no UTF-8 (Unicode 15, table 3-7).
Decoded decode(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  std::uint32_t point = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, i) & 0xc0U) != 0x80) return {};
    point = point << 6 | (byte_at(text, i) & 0x3fU);
  }
  const std::uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (point < least || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return {};
  return {point, length};
}

bool does_more_than_show(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0)              // control characters
         || point == 0x061c || point == 0x200e || point == 0x200f     // direction of writing
         || (point >= 0x2028 && point <= 0x202e)                      // lines, paragraphs, direction
         || (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;  // direction; byte order
}

bool begins_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }

std::string_view last_columns(std::string_view text, std::size_t count) {
  std::size_t at = text.size();
  while (at > 0 && count > 0) {
    if (begins_code_point(text[--at])) --count;
  }
  return text.substr(at);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto [point, length] = decode(text);
    const std::size_t taken = std::max<std::size_t>(length, 1);
    if (length > 0 && !does_more_than_show(point)) {
      shown += text.substr(0, taken);
    } else if (length <= 1) {
      shown += fmt::format("\\x{:02x}", byte_at(text, 0));
    } else {
      shown += fmt::format("\\u{{{:x}}}", point);
    }
    text.remove_prefix(taken);
  }
  return shown;
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_code_point));
}

std::string_view first_columns(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if (begins_code_point(text[end]) && most-- == 0) break;
  }
  return text.substr(0, end);
}

std::string brief(std::string_view text, std::size_t most) {
  constexpr std::string_view kGap = " ... ";
  constexpr std::size_t kLargestPoint = 4;  // bytes: what is farther from both ends than this cannot be shown
  const std::size_t reach = kLargestPoint * most;
  std::string shown = text.size() > 2 * reach
                          ? printable(text.substr(0, reach)) + printable(text.substr(text.size() - reach))
                          : printable(text);
  if (columns(shown) <= most) return shown;
  const std::size_t end = (most - kGap.size()) / 3;  // the beginning says more
  return fmt::format("{}{}{}", first_columns(shown, most - kGap.size() - end), kGap, last_columns(shown, end));
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  return fmt::format("'{}'", brief(text, kLongest));
}

}  // namespace heddle
