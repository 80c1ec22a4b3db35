#include "heddle/kernels/text.hpp"

#include <doctest/doctest.h>

#include <ios>
#include <random>
#include <sstream>
#include <string>

namespace heddle {
namespace {

TEST_CASE("letters of any kind stay, what could do more than show is spelt out") {
  CHECK(printable("a b ~ \xc3\xa9 \xe2\x82\xac \xf0\x9f\xa7\xb5") == "a b ~ \xc3\xa9 \xe2\x82\xac \xf0\x9f\xa7\xb5");
  CHECK(printable("\x1b[31mred\x1b[0m") == "\\x1b[31mred\\x1b[0m");
  CHECK(printable(std::string("a\0b\tc\nd\re\x7f", 10)) == "a\\x00b\\x09c\\x0ad\\x0de\\x7f");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\u{9b}31m");  // the one-character form of ESC [
  CHECK(printable("\xe2\x80\xae"
                  "evil") == "\\u{202e}evil");  // writes from right to left
  CHECK(printable("\xe2\x80\xa8\xef\xbb\xbf") == "\\u{2028}\\u{feff}");
}

TEST_CASE("what shows nothing is spelt out, so that two names that look alike are the same") {
  const auto utf8 = [](unsigned point) {
    std::string bytes;
    const auto add = [&](unsigned byte) { bytes += static_cast<char>(byte); };
    if (point < 0x800) {
      add(0xc0 | point >> 6);
    } else if (point < 0x10000) {
      add(0xe0 | point >> 12);
      add(0x80 | (point >> 6 & 0x3f));
    } else {
      add(0xf0 | point >> 18);
      add(0x80 | (point >> 12 & 0x3f));
      add(0x80 | (point >> 6 & 0x3f));
    }
    add(0x80 | (point & 0x3f));
    return bytes;
  };
  for (const unsigned point :
       {0xadU, 0x180eU, 0x200bU, 0x200cU, 0x200dU, 0x2060U, 0x2064U, 0x3164U, 0xfff9U, 0xfffbU, 0xe0001U, 0xe007fU}) {
    CAPTURE(point);
    std::ostringstream hexadecimal;
    hexadecimal << std::hex << point;
    CHECK(printable("a" + utf8(point) + "b") == "a\\u{" + hexadecimal.str() + "}b");
  }
  for (const unsigned point : {0xa0U, 0xe9U, 0x301U, 0x2010U, 0x20acU, 0x6f22U, 0xfffdU, 0x1f9f5U}) {
    CHECK(printable(utf8(point)) == utf8(point));
  }
}

TEST_CASE("what is no UTF-8 is shown byte by byte") {
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("\x9b") == "\\x9b");
  CHECK(printable("ab\xc3") == "ab\\xc3");                         // cut off
  CHECK(printable("\xe2\x82z") == "\\xe2\\x82z");                  // cut off in the middle
  CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");                    // overlong
  CHECK(printable("\xe0\x82\x9b") == "\\xe0\\x82\\x9b");           // overlong
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  CHECK(printable("\xf8\x88\x80\x80\x80") == "\\xf8\\x88\\x80\\x80\\x80");
}

TEST_CASE("any bytes become printable text, and printable text stays as it is") {
  std::mt19937 random(std::random_device{}());
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(random() % 64, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const std::string shown = printable(bytes);
    CAPTURE(shown);
    CHECK(printable(shown) == shown);
    for (const char c : shown) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
    CHECK(columns(brief(bytes, 20)) <= 20);
  }
}

TEST_CASE("columns are those of a terminal") {
  CHECK(columns("") == 0);
  CHECK(columns("abc") == 3);
  CHECK(columns("\xc3\xa9\xe2\x82\xac") == 2);
  CHECK(first_columns("\xc3\xa9\xe2\x82\xac", 1) == "\xc3\xa9");
  CHECK(first_columns("abc", 7) == "abc");
  CHECK(first_columns("abc", 0).empty());
  const std::string wide = "\xe6\xbc\xa2\xe5\xad\x97", accented = "e\xcc\x81";  // two wide letters; a mark on a letter
  CHECK(columns(wide) == 4);
  CHECK(columns(accented) == 1);
  CHECK(first_columns(wide, 3) == wide.substr(0, 3));
  CHECK(first_columns(accented + "x", 1) == accented);
}

TEST_CASE("long text keeps its beginning and its end") {
  CHECK(brief("short", 16) == "short");
  CHECK(brief(std::string(16, 'x'), 16) == std::string(16, 'x'));
  const std::string cut = brief("begins" + std::string(100'000, 'x') + "ends", 40);
  CHECK(columns(cut) == 40);
  CHECK(cut.starts_with("begins"));
  CHECK(cut.find(" ... ") != std::string::npos);
  CHECK(cut.ends_with("ends"));
  CHECK(columns(brief(std::string(100'000, '\x1b'), 40)) == 40);
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "\xe2\x82\xac";
  CHECK(columns(brief(wide, 40)) == 40);
  CHECK(printable(brief(wide, 40)) == brief(wide, 40));  // no code point was cut
  CHECK(in_quotes("a") == "'a'");
  CHECK(columns(in_quotes(wide)) == 42);
  std::string letters;
  for (int i = 0; i < 1000; ++i) letters += "\xe6\xbc\xa2";
  CHECK(columns(brief(letters, 40)) <= 40);
  CHECK(columns(brief(letters, 40)) >= 38);  // half a letter is none
  std::string marks = "e";
  for (int i = 0; i < 1000; ++i) marks += "\xcc\x81";
  CHECK(brief(marks + "z", 40).size() < 400);
  CHECK(brief(marks + "z", 40).ends_with("z"));
}

}  // namespace
}  // namespace heddle
