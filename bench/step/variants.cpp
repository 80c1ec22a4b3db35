#include "heddle/bench/step/variants.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace heddle::bench {

std::vector<Configuration> with_each(const SearchSpace& space, const Configuration& configuration,
                                     std::string_view parameter, const Problem& problem) {
  std::vector<Configuration> list;
  const std::vector<Parameter>& parameters = space.parameters();
  const auto found = std::ranges::find(parameters, parameter, &Parameter::name);
  if (found == parameters.end() || !configuration.has(parameter)) return list;
  for (const Value& value : found->values) {
    std::vector<Configuration::Entry> entries = configuration.entries();
    for (Configuration::Entry& entry : entries) {
      if (entry.first == parameter) entry.second = value;
    }
    Configuration other(std::move(entries));
    if (!space.violated(other, problem)) list.push_back(std::move(other));
  }
  return list;
}

std::optional<Configuration> captured(const SearchSpace& space, const Configuration& configuration,
                                      const Problem& problem) {
  for (Configuration& other : with_each(space, configuration, "scheme", problem)) {
    if (other.word("scheme") == "graph") return std::move(other);
  }
  return std::nullopt;
}

}  // namespace heddle::bench
