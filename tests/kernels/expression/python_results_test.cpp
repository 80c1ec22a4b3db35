// Expressions have the results that Python gives: python_results.json, made by python_results.py.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "heddle/kernels/expression/evaluation.hpp"
#include "heddle/kernels/expression/tokens.hpp"

namespace heddle {
namespace {

using nlohmann::json;

std::optional<Value> table_name(std::string_view name) {
  static const std::map<std::string, Value, std::less<>> kNames{{"n", std::int64_t{1000}},
                                                                {"zero", std::int64_t{0}},
                                                                {"block", std::int64_t{128}},
                                                                {"x", 0.5},
                                                                {"on", true},
                                                                {"empty", std::string()},
                                                                {"scheme", std::string("tiled")}};
  const auto found = kNames.find(name);
  return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

/// In the form of the table. The sign of 0 counts, and an integer is no real.
json encoded(const Item& item) {
  if (const auto* const real = std::get_if<double>(&item.held); real != nullptr && !std::isfinite(*real)) {
    return {{"real", shown(item)}};
  }
  if (const auto* const list = std::get_if<ItemList>(&item.held)) {
    json all = json::array();
    for (const Item& each : **list) all.push_back(encoded(each));
    return all;
  }
  if (std::holds_alternative<ItemRange>(item.held)) return nullptr;  // a type that the table does not have
  if (const auto* const whole = std::get_if<std::int64_t>(&item.held)) return *whole;
  if (const auto* const real = std::get_if<double>(&item.held)) return *real;
  if (const auto* const truth = std::get_if<bool>(&item.held)) return *truth;
  return std::get<std::string>(item.held);
}

json result_of(const std::string& expression) {
  try {
    return encoded(evaluate(parse_expression(expression), table_name));
  } catch (const ExpressionFault& fault) {
    CHECK(fault.column() >= 1);
    CHECK(fault.column() <= expression.size() + 1);
    return nullptr;
  }
}

TEST_CASE("expressions have the results that Python gives") {
  std::ifstream file(HEDDLE_PYTHON_RESULTS);
  const json table = json::parse(file);
  REQUIRE(table.size() >= 1000);
  for (const json& entry : table) {
    const auto expression = entry.at(0).get<std::string>();
    CAPTURE(expression);
    const json found = result_of(expression);
    CAPTURE(found);
    // The texts tell 1 from 1.0 and 0.0 from -0.0.
    CHECK(found.dump() == entry.at(1).dump());
  }
}

}  // namespace
}  // namespace heddle
