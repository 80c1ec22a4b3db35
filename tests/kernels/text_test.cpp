#include "heddle/kernels/text.hpp"

#include <doctest/doctest.h>

#include <random>
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

TEST_CASE("columns are code points") {
  CHECK(columns("") == 0);
  CHECK(columns("abc") == 3);
  CHECK(columns("\xc3\xa9\xe2\x82\xac") == 2);
  CHECK(first_columns("\xc3\xa9\xe2\x82\xac", 1) == "\xc3\xa9");
  CHECK(first_columns("abc", 7) == "abc");
  CHECK(first_columns("abc", 0).empty());
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
}

}  // namespace
}  // namespace heddle
