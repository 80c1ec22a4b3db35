// What a GPU is tried with of fuzzy arrays: every value of every parameter, in each form of arrays.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include "contract/device_contract.hpp"
#include "contract/large_gpu.hpp"

namespace heddle {
namespace {

using Form = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // bits, layout, kind of matrix

bool has(const KernelFamily& family, const char* axis) {
  return std::ranges::any_of(family.axes(), [&](const Axis& own) { return own.name == axis; });
}

void add_values(const Configuration& configuration, std::set<std::string>& to) {
  std::istringstream values(configuration.text());
  for (std::string value; values >> value;) to.insert(value);
}

TEST_CASE("every value of every parameter of fuzzy arrays occurs in each type, layout and kind of matrix") {
  const DeviceIdentity device = test::large_gpu();
  ContractSample sample{.drawn = 12, .forms = true};
  std::erase_if(sample.families, [](const auto& family) { return !family->name().starts_with("fuzzy-"); });
  const std::vector<ContractCase> all = contract_cases(device, sample);
  CHECK(sample.families.size() >= 10);
  for (const auto& family : sample.families) {
    INFO(family->name());
    const SearchSpace space = family->space(device);
    const bool matrix = has(*family, "matrix");
    const auto form_of = [&](const Problem& problem) {
      return Form(problem.at("bits"), problem.at("layout"), matrix ? problem.at("matrix") : 1);
    };
    std::map<Form, std::set<std::string>> tried;
    for (const ContractCase& one : all) {
      if (one.family != family.get()) continue;
      CHECK(!space.violated(one.configuration, one.problem).has_value());
      add_values(one.configuration, tried[form_of(one.problem)]);
    }
    CHECK(tried.size() == (matrix ? 8 : 4));
    for (const auto& entry : tried) {
      const Form& form = entry.first;  // no structured bindings: messages are made in a lambda
      const std::set<std::string>& values = entry.second;
      std::set<std::string> possible;
      for (const std::int64_t cuts : {1, 4, 24, 48}) {
        Problem problem = family->default_problems(device).front();
        problem = problem.with("bits", std::get<0>(form)).with("layout", std::get<1>(form)).with("cuts", cuts);
        if (matrix) problem = problem.with("matrix", std::get<2>(form));
        for (const Configuration& configuration : space.enumerate(problem)) add_values(configuration, possible);
      }
      for (const std::string& value : possible) {
        CHECK_MESSAGE(values.contains(value), std::get<0>(form) << " bits, layout " << std::get<1>(form) << ", matrix "
                                                                << std::get<2>(form) << ": " << value);
      }
    }
  }
}

TEST_CASE("of large fuzzy arrays, which the host fills and compares, a GPU is tried with few configurations") {
  const DeviceIdentity device = test::large_gpu();
  ContractSample sample{.drawn = 12, .forms = true};
  std::erase_if(sample.families, [](const auto& family) { return !family->name().starts_with("fuzzy-"); });
  const auto megabytes = [&](const ContractSample& of) {
    double sum = 0.0;
    for (const ContractCase& one : contract_cases(device, of)) sum += one.family->work(one.problem).bytes * 1e-6;
    return sum;
  };
  ContractSample drawn = sample;
  drawn.forms = false;
  MESSAGE(contract_cases(device, sample).size() << " cases, " << megabytes(sample) << " MB; drawn from all problems "
                                                << contract_cases(device, drawn).size() << ", " << megabytes(drawn));
  CHECK(megabytes(sample) < megabytes(drawn) / 3);
}

}  // namespace
}  // namespace heddle
