#include "heddle/kernels/text.hpp"

#include <fmt/format.h>
#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <array>
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

struct Range {
  std::uint32_t first, last;
};

/// Control characters, separators of lines and paragraphs, and everything that shows nothing by itself: the property
/// Default_Ignorable_Code_Point of Unicode 15 (marks that join, hide or turn letters, variation selectors, tags), and
/// the marks of annotations.
constexpr std::array kNotShown{
    Range{0x0000, 0x001f},   Range{0x007f, 0x009f},   Range{0x00ad, 0x00ad},   Range{0x034f, 0x034f},
    Range{0x061c, 0x061c},   Range{0x115f, 0x1160},   Range{0x17b4, 0x17b5},   Range{0x180b, 0x180f},
    Range{0x200b, 0x200f},   Range{0x2028, 0x202e},   Range{0x2060, 0x206f},   Range{0x3164, 0x3164},
    Range{0xfe00, 0xfe0f},   Range{0xfeff, 0xfeff},   Range{0xffa0, 0xffa0},   Range{0xfff0, 0xfffb},
    Range{0x1bca0, 0x1bca3}, Range{0x1d173, 0x1d17a}, Range{0xe0000, 0xe0fff},
};

bool does_more_than_show(std::uint32_t point) {
  return std::ranges::any_of(kNotShown,
                             [&](const Range& range) { return point >= range.first && point <= range.last; });
}

/// Sees text as UTF-8 while it lives, whatever the user's locale.
class Utf8 {
 public:
  Utf8() : before_(::uselocale(locale())) {}
  ~Utf8() { ::uselocale(before_); }
  Utf8(const Utf8&) = delete;
  Utf8& operator=(const Utf8&) = delete;

  /// How many columns a terminal gives it: two for wide East Asian letters, none for marks on the letter before.
  [[nodiscard]] static std::size_t width(std::uint32_t point) {
    const int columns = point < 0x80 ? 1 : ::wcwidth(static_cast<wchar_t>(point));
    return columns < 0 ? 1 : static_cast<std::size_t>(columns);
  }

 private:
  static locale_t locale() {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8;
  }
  locale_t before_;
};

bool begins_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }

std::string_view last_columns(std::string_view text, std::size_t count) {
  const Utf8 locale;
  std::size_t begin = text.size();
  for (std::size_t at = text.size(); at-- > 0;) {
    if (!begins_code_point(text[at])) continue;
    const std::size_t width = Utf8::width(decode(text.substr(at)).point);
    if (width > count) break;
    count -= width;
    begin = at;
  }
  return text.substr(begin);
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
  const Utf8 locale;
  std::size_t sum = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (begins_code_point(text[at])) sum += Utf8::width(decode(text.substr(at)).point);
  }
  return sum;
}

std::string_view first_columns(std::string_view text, std::size_t most) {
  const Utf8 locale;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!begins_code_point(text[at])) continue;
    const std::size_t width = Utf8::width(decode(text.substr(at)).point);
    if (width > most) return text.substr(0, at);
    most -= width;
  }
  return text;
}

std::string brief(std::string_view text, std::size_t most) {
  constexpr std::string_view kGap = " ... ";
  constexpr std::size_t kLargestPoint = 4;  // bytes: what is farther from both ends than this is not shown
  const std::size_t reach = kLargestPoint * most, end = (most - kGap.size()) / 3;  // the beginning says more
  const bool cut = text.size() > 2 * reach;
  std::string first = printable(cut ? text.substr(0, reach) : text);
  if (!cut && columns(first) <= most) return first;
  const std::string last = cut ? printable(text.substr(text.size() - reach)) : first;
  return fmt::format("{}{}{}", first_columns(first, most - kGap.size() - end), kGap, last_columns(last, end));
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  return fmt::format("'{}'", brief(text, kLongest));
}

}  // namespace heddle
