#include "heddle/kernels/value.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/search_space.hpp"

namespace heddle {
namespace {

/// Equal, and of a real the same bits: -0.0 is another than 0.0.
bool identical(const Value& a, const Value& b) {
  if (a.index() != b.index()) return false;
  const auto* x = std::get_if<double>(&a);
  return x == nullptr ? a == b : std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(std::get<double>(b));
}

/// Any integer, any finite real, either truth value; words that are or look like something else.
Value any_value(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return static_cast<std::int64_t>(random());
    case 1:
      return static_cast<std::int64_t>(random() % 100) - 50;
    case 2: {
      const double real = std::bit_cast<double>(std::uint64_t{random()});
      return std::isfinite(real) ? real : 0.25;
    }
    case 3:
      return static_cast<double>(static_cast<std::int64_t>(random() % 2000) - 1000) / 8.0;
    case 4:
      return random() % 2 == 0;
    case 5:
      return text(any_value(random));  // the text of another value, as a word
    default: {
      static const std::string kLetters = "ab0e.-+=\"\\ x\n\t\x7f\x01,truefalse19";
      std::string word(random() % 12, ' ');
      for (char& letter : word) letter = kLetters[random() % kLetters.size()];
      return word;
    }
  }
}

std::vector<Value> special_values() {
  return {std::numeric_limits<std::int64_t>::min(),
          std::numeric_limits<std::int64_t>::max(),
          std::int64_t{0},
          0.0,
          -0.0,
          1.0,
          std::int64_t{1},
          true,
          false,
          0.1,
          1e16,
          1e-7,
          123456789012345680.0,
          std::numeric_limits<double>::max(),
          std::numeric_limits<double>::denorm_min(),
          std::string(),
          std::string("1"),
          std::string("1.0"),
          std::string("01"),
          std::string("1e5"),
          std::string("true"),
          std::string("True"),
          std::string("nan"),
          std::string("-inf"),
          std::string("a b"),
          std::string("a=b"),
          std::string("\""),
          std::string("\\"),
          std::string("\"1\""),
          std::string("Gr\u00f6\u00dfe")};
}

TEST_CASE("the text of a value reads as that value, and every value has its own") {
  std::mt19937_64 random(4);
  std::vector<Value> values = special_values();
  values.reserve(20000);
  while (values.size() < 20000) values.push_back(any_value(random));
  std::map<std::string, Value> known;
  for (const Value& value : values) {
    const std::string line = text(value);
    CAPTURE(line);
    CHECK(identical(parse_value(line), value));
    CHECK(length_of_value(line) == line.size());
    CHECK(length_of_value(line + " more=1") == line.size());
    for (const char c : line) CHECK(static_cast<unsigned char>(c) >= 0x20);
    CHECK(identical(known.emplace(line, value).first->second, value));
  }
}

TEST_CASE("texts that people and databases see") {
  CHECK(text(std::int64_t{-128}) == "-128");
  CHECK(text(0.5) == "0.5");
  CHECK(text(1.0) == "1.0");
  CHECK(text(1e-7) == "1e-07");
  CHECK(text(-0.0) == "-0.0");
  CHECK(text(true) == "true");
  CHECK(text(std::string("graph")) == "graph");
  CHECK(text(std::string("x86-64-v3")) == "x86-64-v3");
  CHECK(text(std::string("007")) == "007");
  CHECK(text(std::string("1")) == "\"1\"");
  CHECK(text(std::string("true")) == "\"true\"");
  CHECK(text(std::string("two words")) == "\"two words\"");
  CHECK(text(std::string("line\nline")) == "\"line\\x0aline\"");
  CHECK(text(std::string()) == "\"\"");
  for (const char* bad : {"\"", "\"a", "\"a\"b", "\"\\x1\"", "\"\\xzz\"", "\"a\\"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(static_cast<void>(parse_value(bad)), Error);
  }
}

TEST_CASE("values are JSON and come back") {
  std::mt19937_64 random(5);
  std::vector<Value> values = special_values();
  values.reserve(5000);
  while (values.size() < 5000) values.push_back(any_value(random));
  for (const Value& value : values) {
    CAPTURE(text(value));
    CHECK(identical(value_from(json_of(value)), value));
    CHECK(identical(value_from(nlohmann::json::parse(json_of(value).dump())), value));
  }
  CHECK(json_of(1.0).dump() == "1.0");
  CHECK(json_of(true).dump() == "true");
  for (const char* bad : {"null", "[1]", "{}", "18446744073709551615"}) {
    CHECK_THROWS_AS(static_cast<void>(value_from(nlohmann::json::parse(bad))), Error);
  }
}

TEST_CASE("a space of any values: every configuration's text is read again") {
  std::mt19937_64 random(6);
  for (int times = 0; times < 200; ++times) {
    std::vector<Parameter> parameters;
    for (const char* name : {"first", "second", "third"}) {
      std::map<std::string, Value> different;
      while (different.size() < 4) {
        Value value = any_value(random);
        different.emplace(text(value), std::move(value));
      }
      Parameter& parameter = parameters.emplace_back();
      parameter.name = name;
      parameter.values.reserve(different.size());
      for (const auto& [line, value] : different) parameter.values.push_back(value);
    }
    const SearchSpace space({}, std::move(parameters), {});
    for (const Configuration& configuration : space.enumerate(Problem())) {
      CAPTURE(configuration.text());
      const Configuration again = space.parse(configuration.text());
      CHECK(again == configuration);
      CHECK(again.text() == configuration.text());
    }
  }
}

TEST_CASE("a configuration gives values of their own kind") {
  const Configuration configuration(
      {{"count", std::int64_t{4}}, {"factor", 0.5}, {"padded", true}, {"scheme", std::string("graph")}});
  CHECK(configuration.text() == "count=4 factor=0.5 padded=true scheme=graph");
  CHECK(configuration.number("count") == 4);
  CHECK(configuration.real("factor") == 0.5);
  CHECK(configuration.flag("padded"));
  CHECK(configuration.word("scheme") == "graph");
  CHECK(configuration.value("factor") == Value(0.5));
  CHECK_THROWS_AS(static_cast<void>(configuration.value("none")), std::out_of_range);
  CHECK_THROWS_AS(static_cast<void>(configuration.number("factor")), std::bad_variant_access);
  CHECK(as_number(configuration.value("padded")) == 1.0);
  CHECK_FALSE(as_number(configuration.value("scheme")).has_value());
  // A literal is a word, not a truth value.
  CHECK(Configuration({{"kind", "good"}, {"count", 1}}).word("kind") == "good");
}

TEST_CASE("a space refuses reals that are not finite") {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Parameter parameter;
    parameter.name = "rate";
    parameter.values = {1.0, bad};
    CHECK_THROWS_AS(SearchSpace({}, {parameter}, {}), std::invalid_argument);
  }
}

}  // namespace
}  // namespace heddle
