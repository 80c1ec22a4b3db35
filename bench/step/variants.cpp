#include "heddle/bench/step/variants.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace heddle::bench {

namespace {

const Parameter* find(const SearchSpace& space, std::string_view name) {
  const std::vector<Parameter>& parameters = space.parameters();
  const auto found = std::ranges::find(parameters, name, &Parameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

Configuration with(const Configuration& configuration, std::string_view parameter, const Value& value) {
  std::vector<Configuration::Entry> entries = configuration.entries();
  for (Configuration::Entry& entry : entries) {
    if (entry.first == parameter) entry.second = value;
  }
  return Configuration(std::move(entries));
}

}  // namespace

std::vector<Configuration> with_each(const SearchSpace& space, const Configuration& configuration,
                                     std::string_view parameter, const Problem& problem) {
  std::vector<Configuration> list;
  const Parameter* const found = find(space, parameter);
  if (found == nullptr || !configuration.has(parameter)) return list;
  for (const Value& value : found->values) {
    Configuration other = with(configuration, parameter, value);
    if (!space.violated(other, problem)) list.push_back(std::move(other));
  }
  return list;
}

std::vector<Configuration> captured(const SearchSpace& space, const Configuration& configuration,
                                    const Problem& problem) {
  const std::string scheme = configuration.has("scheme") ? configuration.word("scheme") : "";
  if (scheme != "stepwise" && scheme != "graph") return {};
  std::vector<Configuration> launched = with_each(space, configuration, "launch", problem);
  if (launched.empty()) launched = {configuration};
  for (Configuration& one : launched) one = with(one, "scheme", std::string("graph"));
  return launched;
}

}  // namespace heddle::bench
