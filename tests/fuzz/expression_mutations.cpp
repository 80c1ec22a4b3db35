// Expressions out of parts of expressions, and damaged ones: none may crash, take long or give what is no value.
//
//     expression_mutations COUNT [SEED]
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <string_view>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/expression/expression.hpp"

namespace {

using heddle::Expression;

constexpr std::array<std::string_view, 74> kParts{"0",
                                                  "1",
                                                  "2",
                                                  "-1",
                                                  "7",
                                                  "1000",
                                                  "9223372036854775807",
                                                  "9223372036854775808",
                                                  "0.5",
                                                  "1e308",
                                                  "1e-300",
                                                  "0x1f",
                                                  "True",
                                                  "False",
                                                  "'a'",
                                                  "\"b c\"",
                                                  "'\xc3\xa9'",
                                                  "n",
                                                  "x",
                                                  "word",
                                                  "flag",
                                                  "missing",
                                                  "i",
                                                  "[",
                                                  "]",
                                                  "(",
                                                  ")",
                                                  "[]",
                                                  "[1, 2, 3]",
                                                  ",",
                                                  "+",
                                                  "-",
                                                  "*",
                                                  "/",
                                                  "//",
                                                  "%",
                                                  "**",
                                                  "<",
                                                  "<=",
                                                  ">",
                                                  ">=",
                                                  "==",
                                                  "!=",
                                                  " in ",
                                                  " not in ",
                                                  " and ",
                                                  " or ",
                                                  " not ",
                                                  " if ",
                                                  " else ",
                                                  " for i in ",
                                                  "[i for i in ",
                                                  "range(",
                                                  "list(",
                                                  "len(",
                                                  "min(",
                                                  "max(",
                                                  "abs(",
                                                  "int(",
                                                  "float(",
                                                  "bool(",
                                                  "sum(",
                                                  "ceil_div(",
                                                  "round_up(",
                                                  "has(",
                                                  "range(1000)",
                                                  "range(10**18)",
                                                  "[0] * 1000",
                                                  "['ab' * 999] * 99",
                                                  "[[i] for i in range(99)]",
                                                  "_",
                                                  ".",
                                                  "\\",
                                                  "\n"};

std::optional<heddle::Value> value_of(std::string_view name) {
  if (name == "n") return std::int64_t{1000};
  if (name == "x") return 0.5;
  if (name == "word") return std::string("tiled");
  if (name == "flag") return true;
  return std::nullopt;
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  /// Half of them follow the grammar, so that they reach the evaluation.
  std::string next() {
    std::string text;
    if (below(2) == 0) {
      text = expression(static_cast<int>(below(7)));
    } else {
      for (std::size_t parts = below(40); parts > 0; --parts) text += kParts[below(kParts.size())];
    }
    if (below(3) == 0) damage(text);
    if (below(2000) == 0) text = repeated(text, below(300));
    return text;
  }

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  static std::string repeated(const std::string& text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
  }

  std::string expression(int levels) {
    if (levels == 0) return std::string(kParts[below(23)]);
    const auto part = [&] { return expression(static_cast<int>(below(static_cast<std::size_t>(levels)))); };
    switch (below(9)) {
      case 0:
        return "(" + part() + ")";
      case 1:
        return part() + " if " + part() + " else " + part();
      case 2:
        return "[" + part() + ", " + part() + "]";
      case 3:
        return part() + "[" + part() + "]";
      case 4:
        return "[" + part() + " for i in " + part() + (below(2) == 0 ? " if " + part() : "") + "]";
      case 5:
        return std::string(kParts[52 + below(13)]) + part() + (below(2) == 0 ? ", " + part() : "") + ")";
      case 6:
        return "-" + part();
      default:
        return part() + std::string(kParts[30 + below(17)]) + part();
    }
  }

  void damage(std::string& text) {
    for (std::size_t times = 1 + below(3); times > 0; --times) {
      const std::size_t at = below(text.size() + 1);
      switch (below(3)) {
        case 0:
          text.insert(at, 1, static_cast<char>(below(256)));
          break;
        case 1:
          text.erase(at, below(5));
          break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(below(256));
      }
    }
  }

  std::mt19937_64 random_;
};

/// The normal form is an expression that is its own normal form, unless it is too long for one.
bool has_good_normal_form(const Expression& expression) {
  const std::string normal = expression.normal_form();
  try {
    return normal.size() > Expression::kLongest || Expression(normal).normal_form() == normal;
  } catch (const heddle::Error&) {
    return false;
  }
}

/// Whether it has a value.
bool evaluated(const std::string& text) {
  try {
    const Expression expression(text);
    static_cast<void>(expression.names());
    if (!has_good_normal_form(expression)) std::abort();
    static_cast<void>(expression.truth(value_of));
    for (const heddle::Value& each : expression.values(value_of)) {
      if (heddle::parse_value(heddle::text(each)) != each) std::abort();  // infinite, or damaged
    }
    return true;
  } catch (const heddle::Error& error) {
    if (error.kind() != heddle::ErrorKind::input || std::string_view(error.what()).empty()) std::abort();
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 1000;
  Generator generator(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  std::clock_t longest = 0;  // of the processor: other programs do not count
  std::string slowest;
  long values = 0;
  for (long i = 0; i < count; ++i) {
    const std::string text = generator.next();
    const std::clock_t begin = std::clock();
    if (evaluated(text)) ++values;
    std::clock_t taken = std::clock() - begin;
    if (taken > longest) {  // once more: now and then the sanitizer cleans up
      const std::clock_t again = std::clock();
      static_cast<void>(evaluated(text));
      taken = std::min(taken, std::clock() - again);
    }
    if (taken > longest) {
      longest = taken;
      slowest = text;
    }
  }
  std::printf("%ld expressions, %ld with a value; the slowest took %.2f ms: %.200s\n", count, values,
              1e3 * static_cast<double>(longest) / CLOCKS_PER_SEC, slowest.c_str());
  // Where nothing has a value, the generator makes nothing that tests the evaluation.
  return values * 50 > count ? 0 : 1;
}
