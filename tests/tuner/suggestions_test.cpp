// What is tried first at a problem, by a model of times.
#include "heddle/tuner/suggestions.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "counting_family.hpp"
#include "fake_evaluator.hpp"

using namespace heddle;

namespace {

/// With variants of every configuration, of which the model knows nothing.
class FamilyWithVariants final : public fake::CountingFamily {
 public:
  SearchSpace space(const DeviceIdentity& device) const override {
    const SearchSpace plain = Family::space(device);
    std::vector<Parameter> parameters = plain.parameters();
    parameters.push_back({.name = "variant",
                          .values = {std::int64_t{16}, std::int64_t{17}, std::int64_t{18}},
                          .meaning = "",
                          .active = {}});
    return {device, std::move(parameters), plain.constraints()};
  }
  Configuration default_configuration(const DeviceIdentity& device, const Problem&) const override {
    return space(device).parse("kind=good width=20 depth=1 variant=16");
  }
};

/// The first three by a model that is so far off.
std::vector<Configuration> first_three(double left_out_error) {
  const FamilyWithVariants family;
  fake::FakeEvaluator evaluator(family);
  const FittedModel model{.device = evaluator.device(),
                          .family = "fake",
                          .kernels = evaluator.kernels(),
                          .weights = {{"depths off", 0.1}, {"once", 10.0}, {"widths off", 0.5}},
                          .left_out_error = left_out_error,
                          .measurements = 100,
                          .problems = 10,
                          .remark = "",
                          .imported = false,
                          .provenance = {}};
  KnownProfiles known({}, {}, evaluator, {});
  const Suggestions suggestions(evaluator, known, {model});
  const SearchedProblem problem(evaluator, fake::problem(64), {}, {});
  return suggestions.first(problem, suggestions.expected(problem), 3);
}

std::set<std::pair<std::int64_t, std::int64_t>> shapes(const std::vector<Configuration>& list) {
  std::set<std::pair<std::int64_t, std::int64_t>> found;
  for (const Configuration& each : list) found.emplace(each.number("width"), each.number("depth"));
  return found;
}

}  // namespace

TEST_CASE("what is tried first is not all alike, as far as the model may be off") {
  const std::vector<Configuration> exact = first_three(0.0);
  REQUIRE(exact.size() == 3);
  CHECK(shapes(exact) == std::set<std::pair<std::int64_t, std::int64_t>>{{10, 4}});  // three variants of the fastest
  const std::vector<Configuration> rough = first_three(0.1);
  REQUIRE(rough.size() == 3);
  CHECK(shapes(rough).size() > 1);
  // Not at any price: another width costs 0.5 of 10 microseconds, another depth 0.1.
  for (const auto& [width, depth] : shapes(rough)) CHECK(width == 10);
}
