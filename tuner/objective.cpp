#include "heddle/tuner/objective.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

Expression read_objective(const std::string& text) {
  try {
    return Expression(text);
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, fmt::format("option --objective: {}", error.what()));
  }
}

const Metric* find_metric(const KernelFamily& family, std::string_view name) {
  const auto found = std::ranges::find(family.metrics(), name, &Metric::name);
  return found == family.metrics().end() ? nullptr : &*found;
}

bool asks_for(const Expression& expression, std::string_view name) {
  const std::vector<std::string>& names = expression.names();
  return std::ranges::find(names, name) != names.end();
}

std::optional<Value> measured_value(std::string_view name, const Measured& measured, const Work& work) {
  if (name == "time") return Value(measured.time);
  if (name == "energy" && measured.energy) return Value(*measured.energy);
  if (name == "bytes") return Value(work.bytes);
  if (name == "operations") return Value(work.operations);
  if (!measured.resources) return std::nullopt;
  if (name == "registers") return Value(measured.resources->registers);
  if (name == "shared_bytes") return Value(measured.resources->shared_bytes);
  if (name == "local_bytes") return Value(measured.resources->local_bytes);
  if (name == "occupancy") return Value(measured.resources->occupancy);
  return std::nullopt;
}

}  // namespace

Expression::Names measured_names(const KernelFamily& family, const Problem& problem, const Configuration& configuration,
                                 const Measured& measured) {
  return [&, work = family.work(problem)](std::string_view name) -> std::optional<Value> {
    if (configuration.has(name)) return configuration.value(name);
    if (const auto size = problem.find(name)) return Value(*size);
    return measured_value(name, measured, work);
  };
}

std::vector<std::pair<std::string, std::optional<double>>> metrics_of(const KernelFamily& family,
                                                                      const Problem& problem,
                                                                      const Configuration& configuration,
                                                                      const Measured& measured) {
  std::vector<std::pair<std::string, std::optional<double>>> values;
  const Expression::Names names = measured_names(family, problem, configuration, measured);
  for (const Metric& metric : family.metrics()) {
    auto& [name, value] = values.emplace_back(metric.name, std::nullopt);
    try {
      value = metric.value.real(names);
    } catch (const Error&) {  // it has no value here
    }
  }
  return values;
}

Objective::Objective(const std::string& text) : value_(read_objective(text)) {}

void Objective::check(const KernelFamily& family, const DeviceIdentity& device) const {
  const SearchSpace space = family.space(device);
  for (const std::string& name : value_.names()) {
    if (std::ranges::find(kMeasuredNames, name) != kMeasuredNames.end() || find_metric(family, name) != nullptr ||
        std::ranges::find(family.axes(), name, &Axis::name) != family.axes().end() ||
        std::ranges::find(space.parameters(), name, &Parameter::name) != space.parameters().end()) {
      continue;
    }
    throw Error(
        ErrorKind::usage,
        fmt::format("option --objective: {} asks for {}, expected a size, a parameter or a metric of {}, or one "
                    "of: {}",
                    in_quotes(text()), in_quotes(name), family.name(), fmt::join(kMeasuredNames, ", ")));
  }
}

bool Objective::needs_energy(const KernelFamily& family) const {
  if (asks_for(value_, "energy")) return true;
  return std::ranges::any_of(value_.names(), [&](const std::string& name) {
    const Metric* const metric = find_metric(family, name);
    return metric != nullptr && asks_for(metric->value, "energy");
  });
}

double Objective::of(const KernelFamily& family, const Problem& problem, const Configuration& configuration,
                     const Measured& measured) const {
  if (!measured.energy && needs_energy(family)) {
    throw Error(ErrorKind::device,
                fmt::format("option --objective: {} needs the energy of a launch, and the device has "
                            "no counter of energy that can be read",
                            in_quotes(text())));
  }
  const Expression::Names base = measured_names(family, problem, configuration, measured);
  const auto names = [&](std::string_view name) -> std::optional<Value> {
    if (auto value = base(name)) return value;
    const Metric* const metric = find_metric(family, name);
    return metric != nullptr ? std::optional(metric->value.value(base)) : std::nullopt;
  };
  const auto where = [&] { return fmt::format("at {} with {}", problem.text(), configuration.text()); };
  double value = 0.0;
  try {
    value = value_.real(names);
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, fmt::format("option --objective, {}: {}", where(), error.what()));
  }
  if (!(std::isfinite(value) && value > 0.0)) {
    throw Error(ErrorKind::usage, fmt::format("option --objective: {} is {} {}, expected a number above 0, smaller for "
                                              "what is better",
                                              in_quotes(text()), value, where()));
  }
  return value;
}

}  // namespace heddle
