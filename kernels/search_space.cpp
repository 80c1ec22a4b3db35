#include "heddle/kernels/search_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

#include "heddle/kernels/error.hpp"

namespace heddle {

namespace {

/// Constraints may be dear: so many values are tried between two questions whether to stop.
constexpr std::size_t kStepsToAsk = 128;

bool has_meaning(const Parameter& parameter, const Configuration& before) {
  return !parameter.active || parameter.active(before);
}

/// Whether a search gives it a value.
bool is_searched(const Parameter& parameter, const Configuration& before) {
  return !parameter.chosen_last && has_meaning(parameter, before);
}

const Value* find(const std::vector<Configuration::Entry>& entries, std::string_view name) {
  for (const auto& [key, value] : entries) {
    // An enumeration looks up names millions of times. Most differ in length or in the first letter.
    if (key.size() == name.size() && (name.empty() || key.front() == name.front()) && key == name) return &value;
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
  if (!std::ranges::is_partitioned(parameters_, std::logical_not(), &Parameter::chosen_last)) {
    throw std::invalid_argument("a parameter that is chosen last comes before one that is not");
  }
  for (const Parameter& parameter : parameters_) {
    if (parameter.values.size() >= kNoMeaning) {
      throw Error(ErrorKind::input, fmt::format("parameter {} has more than 65534 values", parameter.name));
    }
    for (const Value& value : parameter.values) {
      if (const auto* real = std::get_if<double>(&value); real != nullptr && !std::isfinite(*real)) {
        throw std::invalid_argument(fmt::format("parameter {} has the value {}", parameter.name, *real));
      }
    }
  }
  known_after_.resize(parameters_.size() + 1);
  foreseen_after_.resize(parameters_.size() + 1);
  for (std::size_t i = 0; i < constraints_.size(); ++i) {
    const Constraint& constraint = constraints_[i];
    const auto named = std::ranges::find(parameters_, constraint.last, &Parameter::name);
    if (named == parameters_.end() && !constraint.last.empty()) {
      throw std::out_of_range(
          fmt::format("constraint '{}' waits for a parameter {}", constraint.name, constraint.last));
    }
    const std::size_t known = constraint.asks_no_parameter ? 0
                              : constraint.last.empty()    ? parameters_.size()
                                                           : static_cast<std::size_t>(named - parameters_.begin()) + 1;
    known_after_[known].push_back(i);
    if (!constraint.may_hold) continue;
    foreseen_after_.front().push_back(i);
    for (std::size_t p = 0; p + 1 < known; ++p) {
      const auto& names = constraint.foresees;
      if (std::ranges::find(names, parameters_[p].name) != names.end()) foreseen_after_[p + 1].push_back(i);
    }
  }
}

/// What a walk through the space needs at every step.
struct SearchSpace::Walk {
  const Problem& problem;
  const Order& order;
  const Visit& visit;
  std::size_t steps_left;
  const Stop& stop;
  std::vector<Level> levels;  ///< of the prefix
};

bool SearchSpace::walk(const Problem& problem, const Order& order, const Visit& visit, std::size_t most_steps,
                       const Stop& stop) const {
  Walk walk{.problem = problem, .order = order, .visit = visit, .steps_left = most_steps, .stop = stop, .levels = {}};
  walk.levels.reserve(parameters_.size());
  Configuration prefix;
  return extend(walk, prefix, 0);
}

bool SearchSpace::holds(const Configuration& prefix, std::size_t parameters, const Problem& problem) const {
  return std::ranges::all_of(known_after_[parameters],
                             [&](std::size_t i) { return constraints_[i].holds(prefix, problem, device_); }) &&
         std::ranges::all_of(foreseen_after_[parameters],
                             [&](std::size_t i) { return constraints_[i].may_hold(prefix, problem, device_); });
}

/// Returns whether the walk goes on.
bool SearchSpace::extend(Walk& walk, Configuration& prefix, std::size_t parameter) const {
  if (!holds(prefix, parameter, walk.problem)) return true;
  if (parameter == parameters_.size()) return walk.visit(prefix, walk.levels);
  const Parameter& next = parameters_[parameter];
  if (!is_searched(next, prefix)) {
    walk.levels.push_back(kNoMeaning);
    const bool on = extend(walk, prefix, parameter + 1);
    walk.levels.pop_back();
    return on;
  }
  std::vector<Level> levels(next.values.size());
  std::iota(levels.begin(), levels.end(), Level{0});
  if (walk.order) walk.order(parameter, levels);
  for (const Level level : levels) {
    if (walk.steps_left == 0) return false;
    if (walk.stop && walk.steps_left % kStepsToAsk == 0 && walk.stop()) return false;
    --walk.steps_left;
    prefix.entries_.emplace_back(next.name, next.values[level]);
    walk.levels.push_back(level);
    const bool on = extend(walk, prefix, parameter + 1);
    walk.levels.pop_back();
    prefix.entries_.pop_back();
    if (!on) return false;
  }
  return true;
}

std::vector<Configuration> SearchSpace::enumerate(const Problem& problem) const {
  std::vector<Configuration> found;
  walk(problem, {}, [&](const Configuration& configuration, const std::vector<Level>&) {
    found.push_back(configuration);
    return true;
  });
  return found;
}

/// One random way from the first parameter to the last, each value drawn from those that are allowed after the values
/// before it. The mean of the weights over many descents is the number of configurations.
SearchSpace::Descent SearchSpace::descend(const Problem& problem, const Uniform& uniform) const {
  Descent descent{.configuration = {}, .weight = holds({}, 0, problem) ? 1.0 : 0.0};
  std::vector<Configuration::Entry>& entries = descent.configuration.entries_;
  for (std::size_t p = 0; p < parameters_.size() && descent.weight > 0.0; ++p) {
    const Parameter& parameter = parameters_[p];
    if (!is_searched(parameter, descent.configuration)) {
      if (!holds(descent.configuration, p + 1, problem)) descent.weight = 0.0;
      continue;
    }
    const Choice choice = choose(p, descent.configuration, problem, uniform);
    descent.weight *= choice.allowed;
    descent.steps += choice.steps;
    if (choice.allowed > 0.0) entries.emplace_back(parameter.name, parameter.values[choice.level]);
  }
  return descent;
}

SearchSpace::Choice SearchSpace::choose(std::size_t parameter, Configuration& prefix, const Problem& problem,
                                        const Uniform& uniform) const {
  // Of more values than this, they are tried in random order until so many are allowed. The first of these is as likely
  // as any other, and (kEnough - 1) / (tried - 1) estimates the share that is allowed without a bias (Haldane 1945), as
  // does the mean over descents therefore.
  constexpr std::size_t kFew = 32, kEnough = 4;
  const std::vector<Value>& values = parameters_[parameter].values;
  std::vector<Level> order(values.size()), allowed;
  std::iota(order.begin(), order.end(), Level{0});
  const bool few = values.size() <= kFew;
  const auto below = [&](std::size_t count) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(count));
  };
  std::size_t tried = 0;
  while (tried < order.size() && (few || allowed.size() < kEnough)) {
    if (!few) std::swap(order[tried], order[tried + below(order.size() - tried)]);
    const Level level = order[tried++];
    prefix.entries_.emplace_back(parameters_[parameter].name, values[level]);
    if (holds(prefix, parameter + 1, problem)) allowed.push_back(level);
    prefix.entries_.pop_back();
  }
  if (allowed.empty()) return {.level = 0, .allowed = 0.0, .steps = tried};
  const auto count = static_cast<double>(values.size());
  const double share = tried < values.size() ? (kEnough - 1.0) / (static_cast<double>(tried) - 1.0)
                                             : static_cast<double>(allowed.size()) / count;
  return {.level = few ? allowed[below(allowed.size())] : allowed.front(), .allowed = share * count, .steps = tried};
}

double SearchSpace::estimate(const Problem& problem, std::size_t descents, const Stop& stop) const {
  std::mt19937_64 random(1);
  const Uniform uniform = [&] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
  double sum = 0.0;
  std::size_t made = 0;
  while (made < descents && (made == 0 || !stop || !stop())) {
    sum += descend(problem, uniform).weight;
    ++made;
  }
  return sum / static_cast<double>(made);
}

std::optional<Configuration> SearchSpace::draw(const Problem& problem, const Uniform& uniform, const Stop& stop) const {
  // A descent prefers configurations with few others beside them. One of several descents is therefore drawn by weight,
  // unless a single one tries very many values: a search waits for its draws.
  constexpr int kDescents = 4, kAttempts = 64;
  constexpr std::size_t kPatience = 2048;  // values tried
  std::optional<Configuration> drawn;
  double weights = 0.0;
  std::size_t steps = 0;
  for (int attempt = 0, found = 0; attempt < kAttempts && found < kDescents; ++attempt) {
    if ((drawn && steps > kPatience) || (stop && stop())) break;
    Descent descent = descend(problem, uniform);
    steps += descent.steps;
    if (descent.weight == 0.0) continue;
    ++found;
    weights += descent.weight;
    if (uniform() * weights < descent.weight) drawn = std::move(descent.configuration);
  }
  return drawn;
}

std::vector<SearchSpace::Level> SearchSpace::levels(const Configuration& configuration) const {
  std::vector<Level> levels;
  levels.reserve(parameters_.size());
  for (const Parameter& parameter : parameters_) {
    const Value* const value = find(configuration.entries(), parameter.name);
    const auto place =
        value == nullptr ? parameter.values.end() : std::find(parameter.values.begin(), parameter.values.end(), *value);
    levels.push_back(place == parameter.values.end() ? kNoMeaning
                                                     : static_cast<Level>(place - parameter.values.begin()));
  }
  return levels;
}

std::optional<std::string> SearchSpace::violated(const Configuration& configuration, const Problem& problem) const {
  for (const Constraint& constraint : constraints_) {
    if (!constraint.holds(configuration, problem, device_)) return constraint.name;
  }
  return std::nullopt;
}

bool SearchSpace::is_refined(const Configuration& configuration) const {
  return std::ranges::any_of(parameters_, [&](const Parameter& parameter) {
    return parameter.chosen_last && configuration.has(parameter.name);
  });
}

Configuration SearchSpace::unrefined(const Configuration& configuration) const {
  Configuration usual = configuration;
  std::erase_if(usual.entries_, [&](const Configuration::Entry& entry) {
    return std::ranges::any_of(parameters_, [&](const Parameter& parameter) {
      return parameter.chosen_last && parameter.name == entry.first;
    });
  });
  return usual;
}

std::vector<const Parameter*> SearchSpace::chosen_last(const Configuration& configuration) const {
  std::vector<const Parameter*> found;
  for (const Parameter& parameter : parameters_) {
    if (parameter.chosen_last && has_meaning(parameter, configuration)) found.push_back(&parameter);
  }
  return found;
}

std::vector<Configuration> SearchSpace::refinements(const Configuration& configuration, const Problem& problem) const {
  std::vector<Configuration> found;
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const Parameter& parameter = parameters_[p];
    if (!parameter.chosen_last || !has_meaning(parameter, configuration)) continue;
    for (std::size_t level = 0; level < parameter.values.size(); ++level) {
      Configuration other;
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        if (i == p && level > 0) other.entries_.emplace_back(parameter.name, parameter.values[level]);
        if (const Value* own = i == p ? nullptr : heddle::find(configuration.entries(), parameters_[i].name)) {
          other.entries_.emplace_back(parameters_[i].name, *own);
        }
      }
      if (other != configuration && !violated(other, problem)) found.push_back(std::move(other));
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
    if (found == given.end() && parameter.chosen_last) continue;
    if (found == given.end()) throw fail(fmt::format("{} is missing, one of {}", parameter.name, choices(parameter)));
    const auto value = std::find_if(parameter.values.begin(), parameter.values.end(),
                                    [&](const Value& candidate) { return text(candidate) == found->second; });
    if (value == parameter.values.end()) {
      throw fail(fmt::format("{}={} is not one of {}", parameter.name, found->second, choices(parameter)));
    }
    if (!parameter.chosen_last || value != parameter.values.begin()) {
      configuration.entries_.emplace_back(parameter.name, *value);
    }
    given.erase(found);
  }
  if (!given.empty()) throw fail(fmt::format("there is no parameter {}", given.begin()->first));
  return configuration;
}

}  // namespace heddle
