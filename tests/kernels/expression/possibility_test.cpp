// Expressions whose names are known only in part: what is said to be impossible must be false for every value.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/expression/expression.hpp"

using namespace heddle;

namespace {

/// a from 1 to 8, b from -3 to 3, c 2 or 0.5; the others have no value.
bool possible(const std::string& text) {
  return Expression(text).may_hold([](std::string_view name) -> std::variant<std::monostate, Value, Bounds> {
    if (name == "a") return Bounds{.low = 1.0, .high = 8.0};
    if (name == "b") return Bounds{.low = -3.0, .high = 3.0};
    if (name == "n") return Value(std::int64_t{1000});
    if (name == "word") return Value(std::string("tiled"));
    return {};
  });
}

}  // namespace

TEST_CASE("expressions: what no value of the unknown names can make true is impossible") {
  for (const char* const text : {"a > 8",
                                 "a * 4 > 32",
                                 "a + b == 12",
                                 "a - b > 11",
                                 "n // a < 124",
                                 "n % a > 8",
                                 "2 ** a > 256 if a < 0 else False",
                                 "a ** 2 > 65",
                                 "not a",
                                 "0 < a < 9 < b",
                                 "a in [9, 10]",
                                 "n not in [1000]",
                                 "min(a, b) > 3",
                                 "max(a, b) < 1",
                                 "abs(b) > 3",
                                 "ceil_div(n, a) > 1001",
                                 "word == 'plain'",
                                 "a > 8 or b > 3",
                                 "a > 3 and b > 3",
                                 "(a and b) > 3",
                                 "a / 2 > 4",
                                 "unknown and a > 8",
                                 "-b > 3",
                                 "word != 'tiled' and unknown",
                                 "a * b > 24 or a * b < -24"}) {
    CAPTURE(std::string(text));
    CHECK(!possible(text));
  }
}

TEST_CASE("expressions: what some value may make true, or nobody can tell, is possible") {
  for (const char* const text : {"a > 7",
                                 "a * 4 == 32",
                                 "a + b == 11",
                                 "n // a <= 125",
                                 "n % a == 8",
                                 "not b",
                                 "a in [8, 9]",
                                 "unknown > 3",
                                 "a > 8 or unknown",
                                 "(a or b) > 7",
                                 "(b or a) == 8",
                                 "(1 and 5) == 5",
                                 "min(a, b) == 3",
                                 "n / b > 5",
                                 "n % b == 1",
                                 "[x for x in range(3) if x > a]",
                                 "word == 'tiled'",
                                 "1 // 0 > a",
                                 "a != 1",
                                 "a == 9007199254740993 - 9007199254740990",
                                 "unknown == 'word'",
                                 "has(unknown)",
                                 "len(unknown)",
                                 "a * 4611686018427387904 > 0",
                                 "sum([a, b]) > 100"}) {
    CAPTURE(std::string(text));
    CHECK(possible(text));
  }
}

TEST_CASE("expressions: random ones are never called impossible where a value makes them true") {
  std::mt19937_64 random(3);
  const auto pick = [&](const std::vector<std::string>& from) { return from[random() % from.size()]; };
  const auto write = [&](const auto& self, int depth) -> std::string {
    if (depth == 0) return pick({"a", "b", "1", "2", "7", "-3", "0.5", "n"});
    const std::string left = self(self, depth - 1), right = self(self, depth - 1);
    switch (random() % 6) {
      case 0:
        return "(" + left + pick({" < ", " <= ", " == ", " != ", " > ", " >= "}) + right + ")";
      case 1:
        return "(" + left + pick({" and ", " or "}) + right + ")";
      case 2:
        return pick({"min", "max", "ceil_div"}) + "(" + left + ", " + right + ")";
      case 3:
        return "(" + left + " if " + self(self, depth - 1) + " else " + right + ")";
      case 4:
        return "(" + pick({"not ", "-", "abs"}) + "(" + left + "))";
      default:
        return "(" + left + pick({" + ", " - ", " * ", " / ", " // ", " % ", " ** "}) + right + ")";
    }
  };
  int impossible = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = write(write, 1 + static_cast<int>(random() % 4));
    if (possible(text)) continue;
    ++impossible;
    const Expression parsed(text);
    for (std::int64_t a = 1; a <= 8; ++a) {
      for (std::int64_t b = -3; b <= 3; ++b) {
        try {
          const bool holds = parsed.truth([&](std::string_view name) -> std::optional<Value> {
            return name == "a" ? a : name == "b" ? b : std::int64_t{1000};
          });
          if (holds) FAIL_CHECK(text << " is true for a = " << a << ", b = " << b);
        } catch (const Error&) {  // has no value there
        }
      }
    }
  }
  CHECK(impossible > 100);
}
