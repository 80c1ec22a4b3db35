#include "heddle/kernels/expression/expression.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <string>

#include "heddle/kernels/error.hpp"

namespace heddle {
namespace {

std::optional<Value> known_value(std::string_view name) {
  static const std::map<std::string, Value, std::less<>> kValues{
      {"n", std::int64_t{1000}}, {"zero", std::int64_t{0}}, {"x", 0.5}, {"on", true}, {"scheme", std::string("tiled")}};
  const auto found = kValues.find(name);
  return found == kValues.end() ? std::nullopt : std::optional(found->second);
}

std::string value_text(const std::string& expression) { return text(Expression(expression).value(known_value)); }

TEST_CASE("an expression asks whether a name has a value") {
  CHECK(value_text("has(n)") == "true");
  CHECK(value_text("has( missing )") == "false");
  CHECK(value_text("missing if has(missing) else n") == "1000");
  CHECK(value_text("not has(missing) and n > 1") == "true");
  CHECK(value_text("[has(i) for i in [1]][0]") == "true");
  CHECK(Expression("1 if has(halo) else 2").names() == std::vector<std::string>{"halo"});
}

TEST_CASE("an expression knows its names, without the variables of comprehensions") {
  CHECK(Expression("ceil_div(n, block * items) + n").names() == std::vector<std::string>{"n", "block", "items"});
  CHECK(Expression("1 if True else 2").names().empty());
  CHECK(Expression("[i * a for i in range(n) if i < b]").names() == std::vector<std::string>{"n", "a", "b"});
  CHECK(Expression("[i for i in i]").names() == std::vector<std::string>{"i"});
  CHECK(Expression("[n for n in [1]] + [n]").names() == std::vector<std::string>{"n"});
}

TEST_CASE("an expression gives an integer, a real, a truth value or values") {
  CHECK(Expression("n // 3").integer(known_value) == 333);
  CHECK(Expression("on").integer(known_value) == 1);
  CHECK(Expression("n / 8").real(known_value) == 125.0);
  CHECK(Expression("n").real(known_value) == 1000.0);
  CHECK(Expression("n").truth(known_value));
  CHECK_FALSE(Expression("n % 10").truth(known_value));
  CHECK_FALSE(Expression("''").truth(known_value));
  CHECK(Expression("1").truth({}));
  CHECK(Expression("[2**i for i in range(3)]").values({}) ==
        std::vector<Value>{std::int64_t{1}, std::int64_t{2}, std::int64_t{4}});
  CHECK(Expression("range(2)").values({}) == std::vector<Value>{std::int64_t{0}, std::int64_t{1}});
  CHECK(Expression("[True, 0.5, 'a b']").values({}) == std::vector<Value>{true, 0.5, std::string("a b")});
  CHECK(Expression("'ab'").values({}) == std::vector<Value>{std::string("ab")});
}

TEST_CASE("expressions that make no sense are errors that name the column") {
  const auto fails = [](const std::string& text, const char* why) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(static_cast<void>(value_text(text)), doctest::Contains(why), Error);
  };
  fails("", "column 1: expected a value");
  fails("1 +", "column 4: expected a value");
  fails("(1", "column 3: expected )");
  fails("1 2", "column 3: expected an operator");
  fails("n = 3", "column 3: a single =; two of them compare");
  fails("n && on", "column 3: expressions are written as in Python: and, or, not");
  fails("!on", "column 1: expressions are written as in Python: and, or, not");
  fails("n ? 1 : 2", "column 3: expressions are written as in Python: A if CONDITION else B");
  fails("true", "column 1: expressions are written as in Python: True, False");
  fails("'\xc3\xa9' + \"word", "column 7: a text without a quote at its end");
  fails("'\\x41'", "column 3: expected \\\\");
  fails("1 if 2", "column 7: expected else");
  fails("sqrt(4)", "column 1: there is no function 'sqrt'");
  fails("range(1, 2, 3, 4)", "column 1: range does not take 4 arguments");
  fails("has(4)", "column 5: has() takes a name");
  fails("has(n + 1)", "has() takes a name");
  fails("has()", "has does not take 0 arguments");
  fails("1.2.3", "column 4: expected a blank or an operator after a number");
  fails("2x", "column 2: expected a blank or an operator after a number");
  fails("0x", "column 3: expected digits");
  fails("007", "column 1: an integer begins with 0");
  fails("1e999", "column 1: a real beyond 64 bits");
  fails("99999999999999999999", "column 1: an integer beyond 64 bits");
  fails("(1, 2)", "column 3: there are no tuples; a list needs [ and ]");
  fails("1, 2", "column 2: a list needs brackets");
  fails("x for x in [1]", "column 3: a comprehension needs brackets");
  fails("[x for x, y in [1]]", "column 9: a comprehension has one variable");
  fails("[x for x in [1] for y in [2]]", "column 17: a comprehension has one variable");
  fails("[1][0:1]", "column 6: ':' has no meaning here");
  fails("n.real", "column 2: nothing here has members");
  fails("n(1)", "column 1: there is no function 'n'");
  fails("(n)(1)", "column 4: only a function can be called");
  fails("lambda: 1", "column 1: lambda has no meaning here");
  fails("n @ 2", "column 3: '@' has no meaning here");
  fails("missing + 1", "column 1: 'missing' has no value here");
  fails("2 * missing", "column 5: 'missing' has no value here");
  fails("1 // zero", "column 3: division by zero");
  fails("1 + (n % zero)", "column 8: division by zero");
  fails("1 / 0.0", "division by zero");
  fails("9223372036854775807 + 1", "column 21: an integer beyond 64 bits");
  fails("round_up(9223372036854775807, 2)", "column 1: an integer beyond 64 bits");
  fails("scheme + 1", "column 8: + does not take str ('tiled') and int (1)");
  fails("scheme < 1", "column 8: < does not take str");
  fails("[1][3]", "column 4: index 3 of a sequence of 1");
  fails("(-8) ** 0.5", "a broken power of a negative number");
  fails("[1, 2]", "[1, 2] is no single value");
  fails("range(3)", "a range of 3 is no single value");
  fails("1e308 * 10", "inf is no finite number");
  CHECK_THROWS_WITH_AS(static_cast<void>(Expression("n / 2").integer(known_value)),
                       doctest::Contains("500.0 is no integer; // divides integers"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(Expression("scheme").integer(known_value)),
                       doctest::Contains("'tiled' is no integer"), Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(Expression("scheme").real(known_value)), doctest::Contains("is no number"),
                       Error);
  CHECK_THROWS_WITH_AS(static_cast<void>(Expression("[[1]]").values({})), doctest::Contains("no single value"), Error);
}

TEST_CASE("what an expression may take is limited") {
  const auto fails = [](const std::string& text, const char* why) {
    CHECK_THROWS_WITH_AS(static_cast<void>(value_text(text)), doctest::Contains(why), Error);
  };
  const auto repeated = [](const std::string& word, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += word;
    return all;
  };
  fails(std::string(300, '('), "too many levels");
  fails(std::string(300, '[') + std::string(300, ']'), "too many levels");
  fails(std::string(300, '-') + "1", "too many levels");
  fails(repeated("not ", 300) + "1", "too many levels");
  fails(repeated("1**", 300) + "1", "too many levels");
  fails(repeated("1 if 1 else ", 150) + "1", "too many levels");
  fails(std::string(2001, ' '), "longer than 2000 bytes");
  fails("1" + repeated("+1", 300), "too many operators in a row");
  fails("1" + repeated("[0]", 300), "too many operators in a row");
  CHECK(value_text("1" + repeated("+1", 150)) == "151");
  CHECK(value_text("0" + repeated(" or 0", 300) + " or 7") == "7");
  fails("sum(range(10**18))", "takes more than 25000 steps");
  fails("len([0] * 10**9)", "takes more than 25000 steps");
  fails("len([0] * 10**18 * 1000)", "takes more than 25000 steps");
  fails("len([1, 2] * 9223372036854775807)", "too long");
  fails("len('ab' * 2000)", "a text longer than 2000 bytes");
  fails("sum(sum(sum(k for k in range(99)) for j in range(99)) for i in range(99))", "takes more than 25000 steps");
  fails("len(range(-9223372036854775807, 9223372036854775807))", "a range of too many numbers");
  CHECK(value_text("10**9 in range(10**18)") == "true");  // is not listed
  CHECK(value_text("len([i for i in range(1, 1025) if 1024 % i == 0])") == "11");
}

}  // namespace
}  // namespace heddle
