#include "heddle/kernels/search_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

bool has_meaning(const Parameter& parameter, const Configuration& before) {
  return !parameter.active || parameter.active(before);
}

const Value* find(const std::vector<Configuration::Entry>& entries, std::string_view name) {
  for (const auto& [key, value] : entries) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::string choices(const Parameter& parameter) {
  std::string list;
  for (const Value& value : parameter.values) list += (list.empty() ? "" : ", ") + text(value);
  return list;
}

}  // namespace

bool Configuration::has(std::string_view name) const { return find(entries_, name) != nullptr; }

const Value& Configuration::value(std::string_view name) const {
  const Value* value = find(entries_, name);
  if (value == nullptr) throw std::out_of_range(fmt::format("'{}' has no {}", text(), name));
  return *value;
}

std::int64_t Configuration::number(std::string_view name) const { return std::get<std::int64_t>(value(name)); }

double Configuration::real(std::string_view name) const { return std::get<double>(value(name)); }

bool Configuration::flag(std::string_view name) const { return std::get<bool>(value(name)); }

const std::string& Configuration::word(std::string_view name) const { return std::get<std::string>(value(name)); }

std::string Configuration::text() const {
  std::string result;
  for (const auto& [name, value] : entries_) {
    if (!result.empty()) result += ' ';
    result += name;
    result += '=';
    result += heddle::text(value);
  }
  return result;
}

SearchSpace::SearchSpace(DeviceIdentity device, std::vector<Parameter> parameters, std::vector<Constraint> constraints)
    : device_(std::move(device)), parameters_(std::move(parameters)), constraints_(std::move(constraints)) {
  for (const Parameter& parameter : parameters_) {
    for (const Value& value : parameter.values) {
      if (const auto* real = std::get_if<double>(&value); real != nullptr && !std::isfinite(*real)) {
        throw std::invalid_argument(fmt::format("parameter {} has the value {}", parameter.name, *real));
      }
    }
  }
  for (const Constraint& constraint : constraints_) {
    const auto named = std::find_if(parameters_.begin(), parameters_.end(),
                                    [&](const Parameter& parameter) { return parameter.name == constraint.last; });
    if (named == parameters_.end() && !constraint.last.empty()) {
      throw std::out_of_range(
          fmt::format("constraint '{}' waits for a parameter {}", constraint.name, constraint.last));
    }
    known_after_.push_back(constraint.last.empty() ? parameters_.size()
                                                   : static_cast<std::size_t>(named - parameters_.begin()) + 1);
  }
}

std::vector<Configuration> SearchSpace::enumerate(const Problem& problem) const {
  std::vector<Configuration> found;
  Configuration prefix;
  extend(prefix, 0, problem, found);
  return found;
}

void SearchSpace::extend(Configuration& prefix, std::size_t parameter, const Problem& problem,
                         std::vector<Configuration>& found) const {
  for (std::size_t i = 0; i < constraints_.size(); ++i) {
    if (known_after_[i] == parameter && !constraints_[i].holds(prefix, problem, device_)) return;
  }
  if (parameter == parameters_.size()) {
    found.push_back(prefix);
    return;
  }
  const Parameter& next = parameters_[parameter];
  if (!has_meaning(next, prefix)) {
    extend(prefix, parameter + 1, problem, found);
    return;
  }
  for (const Value& value : next.values) {
    prefix.entries_.emplace_back(next.name, value);
    extend(prefix, parameter + 1, problem, found);
    prefix.entries_.pop_back();
  }
}

std::optional<std::string> SearchSpace::violated(const Configuration& configuration, const Problem& problem) const {
  for (const Constraint& constraint : constraints_) {
    if (!constraint.holds(configuration, problem, device_)) return constraint.name;
  }
  return std::nullopt;
}

std::vector<Configuration> SearchSpace::neighbours(const Configuration& configuration, const Problem& problem) const {
  std::vector<Configuration> found;
  for (const Parameter& changed : parameters_) {
    const Value* present = find(configuration.entries(), changed.name);
    if (present == nullptr) continue;
    for (const Value& value : changed.values) {
      if (value == *present) continue;
      Configuration neighbour;
      for (const Parameter& parameter : parameters_) {
        if (!has_meaning(parameter, neighbour)) continue;
        const Value* kept = find(configuration.entries(), parameter.name);
        neighbour.entries_.emplace_back(parameter.name, parameter.name == changed.name ? value
                                                        : kept != nullptr              ? *kept
                                                                                       : parameter.values.front());
      }
      if (!violated(neighbour, problem)) found.push_back(std::move(neighbour));
    }
  }
  return found;
}

Configuration SearchSpace::parse(std::string_view all) const {
  const auto fail = [&](const std::string& why) {
    return Error(ErrorKind::input, fmt::format("configuration '{}': {}", all.substr(0, 300), why));
  };
  std::map<std::string, std::string, std::less<>> given;
  for (std::string_view rest = all; !rest.empty();) {
    const std::string_view field = rest.substr(0, rest.find(' '));
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) throw fail(fmt::format("expected name=value, found '{}'", field));
    const std::string_view name = field.substr(0, equals);
    rest.remove_prefix(equals + 1);
    const std::size_t length = length_of_value(rest);
    if (!given.emplace(name, rest.substr(0, length)).second) throw fail(fmt::format("{} is there twice", name));
    rest.remove_prefix(std::min(length + 1, rest.size()));
  }
  Configuration configuration;
  for (const Parameter& parameter : parameters_) {
    const auto found = given.find(parameter.name);
    if (!has_meaning(parameter, configuration)) {
      if (found != given.end()) throw fail(fmt::format("{} has no meaning there", parameter.name));
      continue;
    }
    if (found == given.end()) throw fail(fmt::format("{} is missing, one of {}", parameter.name, choices(parameter)));
    const auto value = std::find_if(parameter.values.begin(), parameter.values.end(),
                                    [&](const Value& candidate) { return text(candidate) == found->second; });
    if (value == parameter.values.end()) {
      throw fail(fmt::format("{}={} is not one of {}", parameter.name, found->second, choices(parameter)));
    }
    configuration.entries_.emplace_back(parameter.name, *value);
    given.erase(found);
  }
  if (!given.empty()) throw fail(fmt::format("there is no parameter {}", given.begin()->first));
  return configuration;
}

}  // namespace heddle
