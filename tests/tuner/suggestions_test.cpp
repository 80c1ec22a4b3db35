// What is tried first at a problem, by a model of times.
#include "heddle/tuner/suggestions.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "counting_family.hpp"
#include "fake_evaluator.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"

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

FittedModel model_of(const fake::FakeEvaluator& evaluator, double left_out_error) {
  return {.device = evaluator.device(),
          .family = "fake",
          .kernels = evaluator.kernels(),
          .weights = {{"depths off", 0.1}, {"once", 10.0}, {"widths off", 0.5}},
          .left_out_error = left_out_error,
          .measurements = 100,
          .problems = 10,
          .remark = "",
          .imported = false,
          .provenance = {}};
}

/// The first three by a model that is so far off.
std::vector<Configuration> first_three(double left_out_error) {
  const FamilyWithVariants family;
  fake::FakeEvaluator evaluator(family);
  KnownProfiles known({}, {}, evaluator, {});
  const Suggestions suggestions(evaluator, known, {model_of(evaluator, left_out_error)});
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

TEST_CASE("what the device would run untuned is tried, whatever was measured since") {
  const FamilyWithVariants family;
  fake::FakeEvaluator evaluator(family);
  KnownProfiles known({}, {}, evaluator, {});
  const FittedModel model = model_of(evaluator, 0.02);
  Suggestions suggestions(evaluator, known, {model});
  const SearchedProblem problem(evaluator, fake::problem(64), {}, {}, suggestions.model_before());
  const Dispatcher dispatcher(evaluator.device(), family, Knowledge({}, {model}));
  const Configuration untuned = dispatcher.choose(fake::problem(64)).configuration;
  REQUIRE(untuned != family.default_configuration(evaluator.device(), fake::problem(64)));
  const auto is_first = [&](const std::vector<float>& expected) {
    const std::vector<Configuration> list = suggestions.first(problem, expected, 3);
    return list.size() == 3 && list.front() == untuned && std::ranges::count(list, untuned) == 1;
  };
  CHECK(is_first(suggestions.expected(problem)));
  // At a problem nearby its width was far slower than the model has it.
  Transfer::Costs costs;
  for (std::size_t i = 0; i < problem.space().numbered(); ++i) {
    const Configuration configuration = problem.at(i);
    const bool is_slow = configuration.number("width") == untuned.number("width");
    costs.emplace_back(configuration, is_slow ? 17.0 : 10.0 + 0.01 * static_cast<double>(i % 7));
  }
  suggestions.learn(fake::problem(32), costs);
  const std::vector<float> expected = suggestions.expected(problem);
  const auto best = static_cast<std::size_t>(std::ranges::min_element(expected) - expected.begin());
  REQUIRE(problem.at(best).number("width") != untuned.number("width"));
  CHECK(is_first(expected));
}

TEST_CASE("where the untuned default is what the device would run, nothing is tried in its place") {
  class Best final : public fake::CountingFamily {
   public:
    Configuration default_configuration(const DeviceIdentity& device, const Problem&) const override {
      return space(device).parse("kind=good width=10 depth=4");
    }
  };
  const Best family;
  fake::FakeEvaluator evaluator(family);
  KnownProfiles known({}, {}, evaluator, {});
  const Suggestions suggestions(evaluator, known, {model_of(evaluator, 0.02)});
  const SearchedProblem problem(evaluator, fake::problem(64), {}, {}, suggestions.model_before());
  REQUIRE(problem.expected_fastest());
  REQUIRE(problem.is_untuned(*problem.expected_fastest()));
  const std::vector<Configuration> list = suggestions.first(problem, suggestions.expected(problem), 3);
  CHECK(list.size() == 3);
  CHECK(std::ranges::count(list, problem.untuned()) == 0);
}
