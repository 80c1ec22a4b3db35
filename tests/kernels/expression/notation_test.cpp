// The one way to write an expression.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/expression/expression.hpp"
#include "heddle/kernels/expression/syntax.hpp"

namespace heddle {
namespace {

std::string normal(const std::string& text) { return Expression(text).normal_form(); }

bool same_tree(const SyntaxNode& a, const SyntaxNode& b) {
  if (a.kind != b.kind || a.name != b.name || a.signs != b.signs || a.operands.size() != b.operands.size())
    return false;
  if (a.literal.held.index() != b.literal.held.index() || shown(a.literal) != shown(b.literal)) return false;
  for (std::size_t i = 0; i < a.operands.size(); ++i) {
    if (!same_tree(a.operands[i], b.operands[i])) return false;
  }
  return true;
}

TEST_CASE("texts of one expression have one normal form") {
  CHECK(normal("time*time") == "time * time");
  CHECK(normal(" ( (time) * (time) ) ") == "time * time");
  CHECK(normal("a*b**2/(c)+-d") == "a * b ** 2 / c + -d");
  CHECK(normal("0x10+1_000+.5+1e3") == "16 + 1000 + 0.5 + 1000.0");
  CHECK(normal("\"it's\\n\"") == R"('it\'s\n')");
  CHECK(normal("a if(b)else c if d else e") == "a if b else c if d else e");
  CHECK(normal("sum( [x for x in range( 3 ) if x] )") == "sum(x for x in range(3) if x)");
  CHECK(normal("[1,2,][0]") == "[1, 2][0]");
  CHECK(normal("1<a<=b not in[c]") == "1 < a <= b not in [c]");
  CHECK(normal("not(a and(b or c))or d") == "not (a and (b or c)) or d");
  CHECK(normal("- 9223372036854775808") == "-9223372036854775808");
}

TEST_CASE("brackets that an expression needs stay") {
  for (const char* const text : {"(a + b) * c",
                                 "a - (b - c)",
                                 "a / (b * c)",
                                 "(a ** b) ** c",
                                 "(-a) ** b",
                                 "a ** -b ** c",
                                 "-(a + b)",
                                 "(a < b) < c",
                                 "(a if b else c) if d else e",
                                 "a if (b if c else d) else e",
                                 "(not a) + b",
                                 "not not a",
                                 "(a or b) and c",
                                 "a and (b and c)",
                                 "(a + b)[c]",
                                 "[a if b else c for i in (d if e else f) if g or h]",
                                 "(-9223372036854775808) ** 2",
                                 "max(a if b else c, d)",
                                 "--a",
                                 "a % (b // c)",
                                 "(a and b) in [c]"}) {
    CHECK(normal(text) == text);
  }
}

TEST_CASE("the normal form of an expression is read as the same tree") {
  std::ifstream file(HEDDLE_PYTHON_RESULTS);
  const auto table = nlohmann::json::parse(file);
  std::size_t read = 0;
  for (const auto& row : table) {
    const auto text = row[0].get<std::string>();
    CAPTURE(text);
    try {
      static_cast<void>(Expression(text));
    } catch (const Error&) {  // Python refuses it, too, or it is beyond what expressions may be
      continue;
    }
    ++read;
    CHECK(same_tree(parse_expression(normal(text)), parse_expression(text)));
    CHECK(normal(normal(text)) == normal(text));
  }
  CHECK(read > table.size() / 2);
}

}  // namespace
}  // namespace heddle
