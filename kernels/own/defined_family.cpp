#include "heddle/kernels/own/defined_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <random>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/expression/item.hpp"
#include "heddle/kernels/own/argument_value.hpp"
#include "heddle/kernels/own/array_file.hpp"
#include "heddle/kernels/own/buffer_difference.hpp"
#include "heddle/kernels/own/defined_verification.hpp"
#include "heddle/kernels/own/definition_document.hpp"
#include "heddle/kernels/own/example.hpp"
#include "heddle/kernels/own/source_folder.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

constexpr std::int64_t kLargestBuffer = std::int64_t{1} << 40;  // bytes; a size beyond it is a mistake
constexpr std::int64_t kMostLaunches = 1024;                    // of a timed run

std::string_view language_of(std::string_view backend) { return runs_cuda_templates(backend) ? "cuda" : backend; }

std::optional<Value> device_value(const DeviceIdentity& device, std::string_view name) {
  if (name == "backend") return Value(device.backend);
  if (name == "units") return Value(device.units);
  if (name == "compute_capability") return Value(std::int64_t{device.compute_capability()});
  if (name == "local_bytes") return Value(device.local_bytes);
  return std::nullopt;
}
const std::vector<std::string>& device_names() {
  static const std::vector<std::string> names{"backend", "units", "compute_capability", "local_bytes"};
  return names;
}

/// What expressions may ask for; absent things have no value.
Expression::Names names_of(const Configuration* configuration, const Problem* problem, const DeviceIdentity* device) {
  return [=](std::string_view name) -> std::optional<Value> {
    if (configuration != nullptr && configuration->has(name)) return configuration->value(name);
    if (const AxisValue size = problem != nullptr ? problem->find(name) : std::nullopt) return Value(*size);
    return device != nullptr ? device_value(*device, name) : std::nullopt;
  };
}

/// Of values that are all numbers.
std::optional<Bounds> bounds_of(const std::vector<Value>& values) {
  Bounds bounds{.low = std::numeric_limits<double>::infinity(), .high = -std::numeric_limits<double>::infinity()};
  for (const Value& value : values) {
    const Item item = item_of(value);
    if (!is_number(item)) return std::nullopt;
    bounds = {.low = std::min(bounds.low, real_of(item)), .high = std::max(bounds.high, real_of(item))};
  }
  return bounds;
}

/// The definition for one language, without the source itself and without what only tells how to tune.
std::string contract_of(KernelDefinition kernel, const std::string& language) {
  kernel.name = kernel.name.substr(0, kernel.name.find('@'));  // the rest is a digest of this
  kernel.code = {{language, kernel.code.at(language)}};
  kernel.code.begin()->second.text.clear();
  kernel.code.begin()->second.headers.clear();
  kernel.meaning.clear();
  for (KernelDefinition::Tunable& parameter : kernel.parameters) parameter.meaning.clear();
  kernel.problems.clear();
  kernel.awkward = {};
  kernel.bytes.clear();
  kernel.operations.clear();
  kernel.metrics.clear();
  kernel.folder.clear();
  kernel.allow_outside = true;
  return write_definition(kernel, {});
}

Extent extent_of(const std::vector<Expression>& sizes, const Expression::Names& names, const char* of) {
  Extent extent;
  unsigned* const to[] = {&extent.x, &extent.y, &extent.z};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t size = sizes[i].integer(names);
    if (size < 1 || size > std::numeric_limits<std::int32_t>::max()) {
      throw Error(ErrorKind::input, fmt::format("{} {} is {}, expected 1 to {}", of, in_quotes(sizes[i].text()), size,
                                                std::numeric_limits<std::int32_t>::max()));
    }
    *to[i] = static_cast<unsigned>(size);
  }
  return extent;
}

}  // namespace

DefinedFamily::DefinedFamily(KernelDefinition definition, KernelExamples examples)
    : definition_(std::move(definition)), examples_(std::move(examples)) {
  const auto refuse = [this](const std::string& why) {
    throw Error(ErrorKind::input, fmt::format("kernel {}: {}", in_quotes(definition_.name), why));
  };
  check_axes(definition_.axes);
  std::vector<std::string> taken = device_names();
  const auto take = [&](const std::string& name) {
    if (std::ranges::find(taken, name) != taken.end()) refuse(fmt::format("two things are called {}", in_quotes(name)));
    taken.push_back(name);
  };
  for (const Axis& axis : definition_.axes) take(axis.name);
  for (const KernelDefinition::Tunable& parameter : definition_.parameters) {
    take(parameter.name);
    if (parameter.values.empty()) refuse(fmt::format("parameter {} has no values", in_quotes(parameter.name)));
    if (parameter.untuned && std::ranges::find(parameter.values, *parameter.untuned) == parameter.values.end()) {
      refuse(fmt::format("parameter {}: the untuned value {} is none of its values", in_quotes(parameter.name),
                         heddle::text(*parameter.untuned)));
    }
  }
  for (std::size_t i = 0; i < definition_.parameters.size(); ++i) {
    const std::string& text = definition_.parameters[i].active;
    auto& active = active_.emplace_back();
    if (!text.empty()) active = expression(text, "active", known_names(i, false, true));
  }
  const std::size_t all = definition_.parameters.size();
  for (const std::string& text : definition_.constraints) {
    constraints_.push_back(expression(text, "constraint", known_names(all, true, true)));
  }
  for (const KernelArgument& argument : definition_.arguments) {
    Argument& read = arguments_.emplace_back();
    if (argument.lanes < 1 || argument.lanes > 4) {
      refuse(fmt::format("argument {} has {} lanes, expected 1 to 4", in_quotes(argument.name), argument.lanes));
    }
    if (!fits(argument.fill, argument.type)) {
      refuse(fmt::format("argument {} is filled with numbers that are no {}", in_quotes(argument.name),
                         name_of(argument.type)));
    }
    const bool same = std::ranges::count(definition_.arguments, argument.name, &KernelArgument::name) > 1;
    if (same) refuse(fmt::format("two arguments are called {}", in_quotes(argument.name)));
    const int kinds = (argument.is_buffer() ? 1 : 0) + (argument.value.empty() ? 0 : 1) +
                      (argument.fields.empty() ? 0 : 1) + (argument.bytes.empty() ? 0 : 1);
    if (kinds != 1) {
      refuse(fmt::format("argument {} needs either elements or a value", in_quotes(argument.name)));
    }
    if (!argument.symbol.empty() && (!argument.is_buffer() || argument.role != Role::input)) {
      refuse(fmt::format("argument {} is constant memory, expected an input buffer", in_quotes(argument.name)));
    }
    if (!argument.symbol.empty() && definition_.code.contains("cpu")) {
      refuse(fmt::format("argument {} is constant memory, which the CPU does not have", in_quotes(argument.name)));
    }
    if (!argument.passed && argument.symbol.empty()) {
      refuse(fmt::format("argument {} is neither passed nor constant memory", in_quotes(argument.name)));
    }
    if (argument.is_buffer()) {
      read.elements = expression(argument.elements, "elements", known_names(0, true, false));
      read.file = pattern(argument.fill.file, "fill", known_names(0, true, false));
    } else {
      read.by_value = value_expressions(argument);
    }
  }
  if (!definition_.bytes.empty()) bytes_ = expression(definition_.bytes, "bytes", known_names(0, true, false));
  if (!definition_.operations.empty()) {
    operations_ = expression(definition_.operations, "operations", known_names(0, true, false));
  }
  for (const auto& [name, text] : definition_.metrics) {
    metrics_.push_back({name, expression(text, "metrics", names_of_metrics())});
  }
  for (const auto& [language, each] : definition_.code) {
    if (language != "cuda" && language != "cpu") {
      refuse(fmt::format("code for {}, expected cuda or cpu", in_quotes(language)));
    }
    code_.emplace(language, read(language, each, known_names(definition_.parameters.size(), true, true)));
  }
  if (code_.empty()) refuse("there is no code");
  for (std::size_t i = 0; i < definition_.arguments.size(); ++i) all_arguments_.push_back(i);
  read_reference();
  for (const Problem& problem : definition_.problems) {
    if (const auto why = misfit(problem, definition_.axes)) refuse(*why);
  }
  if (const auto why = misfit(awkward_problem(), definition_.axes)) refuse(*why);
}

void DefinedFamily::read_reference() {
  const KernelReference& reference = definition_.reference;
  const auto refuse = [this](const std::string& why) {
    throw Error(ErrorKind::input, fmt::format("kernel {}, the reference: {}", in_quotes(definition_.name), why));
  };
  const auto index_of = [&](const std::string& name) {
    const auto found = std::ranges::find(definition_.arguments, name, &KernelArgument::name);
    if (found == definition_.arguments.end()) refuse(fmt::format("there is no argument {}", in_quotes(name)));
    return static_cast<std::size_t>(found - definition_.arguments.begin());
  };
  const int kinds =
      (reference.code.empty() ? 0 : 1) + (reference.configuration.empty() ? 0 : 1) + (reference.files.empty() ? 0 : 1);
  if (kinds > 1) refuse("expected one of a kernel, a configuration and files");

  verified_against_ = "the default configuration: only agreement was checked";
  if (!reference.configuration.empty()) {
    verified_against_ = fmt::format("the configuration {}", in_quotes(reference.configuration));
  }
  for (const auto& [language, each] : reference.code) {
    const auto& read_code =
        reference_.emplace(language, read(language, each, known_names(0, true, true))).first->second;
    verified_against_ = fmt::format("the reference kernel {}", in_quotes(read_code.name.texts.front()));
  }
  reference_arguments_ = all_arguments_;
  if (!reference.arguments.empty()) {
    reference_arguments_.clear();
    for (const std::string& name : reference.arguments) reference_arguments_.push_back(index_of(name));
  }
  for (const auto& [name, file] : reference.files) {
    const std::size_t index = index_of(name);
    if (!is_compared(definition_.arguments[index])) refuse(fmt::format("{} is no output", in_quotes(name)));
    expected_files_.emplace_back(index, pattern(file, "expected", known_names(0, true, false)));
  }
  if (reference.files.empty()) return;
  if (captured()) {  // the files belong to other contents than those of the call
    expected_files_.clear();
    return;
  }
  verified_against_ = "the expected outputs in files";
  for (const KernelArgument& argument : definition_.arguments) {
    if (is_compared(argument) && !reference.files.contains(argument.name)) {
      refuse(fmt::format("there is no file for the output {}", in_quotes(argument.name)));
    }
  }
}

Expression DefinedFamily::expression(const std::string& text, const char* of,
                                     const std::vector<std::string>& known) const {
  try {
    Expression result(text);
    for (const std::string& name : result.names()) {
      if (std::ranges::find(known, name) == known.end()) {
        throw Error(ErrorKind::input, fmt::format("expression {} asks for {}, expected one of: {}", in_quotes(text),
                                                  in_quotes(name), fmt::join(known, ", ")));
      }
    }
    return result;
  } catch (const Error& error) {
    throw Error(ErrorKind::input, fmt::format("kernel {}, {}: {}", in_quotes(definition_.name), of, error.what()));
  }
}

std::vector<std::string> DefinedFamily::known_names(std::size_t parameters, bool axes, bool device) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parameters; ++i) names.push_back(definition_.parameters[i].name);
  if (axes) {
    for (const Axis& axis : definition_.axes) names.push_back(axis.name);
  }
  if (device) names.insert(names.end(), device_names().begin(), device_names().end());
  return names;
}

std::vector<std::string> DefinedFamily::names_of_metrics() const {
  std::vector<std::string> names = known_names(definition_.parameters.size(), true, false);
  for (const std::string_view name : kMeasuredNames) names.emplace_back(name);
  return names;
}

ArgumentExpressions DefinedFamily::value_expressions(const KernelArgument& argument) const {
  const std::vector<std::string> known = known_names(0, true, false);
  ArgumentExpressions read;
  if (!argument.value.empty()) read.number = expression(argument.value, "value", known);
  for (const KernelArgument::Field& field : argument.fields) {
    if (field.lanes < 1 || field.lanes > 4) {
      throw Error(ErrorKind::input, fmt::format("kernel {}: the member {} of {} has {} lanes, expected 1 to 4",
                                                in_quotes(definition_.name), in_quotes(field.name),
                                                in_quotes(argument.name), field.lanes));
    }
    read.members.push_back(expression(field.value, "value", known));
  }
  if (!argument.bytes.empty()) static_cast<void>(struct_bytes(argument));
  return read;
}

DefinedFamily::Pattern DefinedFamily::pattern(const std::string& text, const char* of,
                                              const std::vector<std::string>& known) const {
  Pattern pattern;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '{' ? text.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      pattern.texts.back() += text[at++];
      continue;
    }
    pattern.values.push_back(expression(text.substr(at + 1, end - at - 1), of, known));
    pattern.texts.emplace_back();
    at = end + 1;
  }
  return pattern;
}

std::string DefinedFamily::Pattern::filled(const Expression::Names& names) const {
  std::string all = texts.front();
  for (std::size_t i = 0; i < values.size(); ++i) all += text(values[i].value(names)) + texts[i + 1];
  return all;
}

DefinedFamily::Code DefinedFamily::read(const std::string& language, const KernelCode& from,
                                        const std::vector<std::string>& known) const {
  Code code;
  try {
    code.contract = std::make_unique<const std::string>(contract_of(definition_, language));
    std::vector<SourceFile> files{{language == "cuda" ? "own_kernel.cuh" : "own_kernel.hpp", from.text},
                                  {"own_kernel.json", *code.contract}};
    for (const auto& [name, text] : from.headers) files.push_back({name, text});
    code.source = std::make_unique<TemplateSource>(TemplateSource::own(std::move(files), from.options));
  } catch (const std::out_of_range& missing) {
    throw Error(ErrorKind::input,
                fmt::format("kernel {}: an #include: {}", in_quotes(definition_.name), missing.what()));
  }
  code.untuned = from.untuned;
  code.name = pattern(from.kernel, "kernel", known);
  // A template with macros of its own gets the parameters as macros, too.
  code.has_macros = !from.macros.empty() || (code.name.values.empty() && from.kernel.find('<') == std::string::npos);
  const auto all = known_names(definition_.parameters.size(), true, true);
  for (const auto& [name, value] : from.macros) code.macros.emplace_back(name, expression(value, "macros", all));
  for (const auto& [texts, expressions, of] :
       {std::tuple(&from.grid, &code.grid, "grid"), std::tuple(&from.block, &code.block, "block")}) {
    if (texts->empty() || texts->size() > 3) {
      throw Error(ErrorKind::input, fmt::format("kernel {}: {} has {} sizes, expected 1 to 3",
                                                in_quotes(definition_.name), of, texts->size()));
    }
    for (const std::string& text : *texts) expressions->push_back(expression(text, of, known));
  }
  code.shared_bytes = expression(from.shared_bytes, "shared_bytes", known);
  return code;
}

const DefinedFamily::Code& DefinedFamily::code(std::string_view backend) const {
  const auto found = code_.find(language_of(backend));
  if (found == code_.end()) {
    throw Error(ErrorKind::usage,
                fmt::format("kernel {} has no code for {}", in_quotes(definition_.name), in_quotes(backend)));
  }
  return found->second;
}

std::string_view DefinedFamily::verified_against() const {
  if (examples_.checked_elsewhere) return "the program's own check";
  return verified_against_;
}

WorkRange DefinedFamily::timed_work(const Problem&, const DeviceIdentity&) const {
  return {.least = 1, .most = kMostLaunches};
}

std::vector<Problem> DefinedFamily::default_problems(const DeviceIdentity&) const {
  if (definition_.problems.empty()) return {awkward_problem()};
  return definition_.problems;
}

Problem DefinedFamily::awkward_problem() const {
  if (!definition_.awkward.sizes().empty()) return definition_.awkward;
  constexpr std::int64_t kAwkward = 97;
  std::vector<AxisValue> values;
  values.reserve(definition_.axes.size());
  for (const Axis& axis : definition_.axes) {
    values.emplace_back(axis.spacing == Spacing::equal ? smallest(axis) : std::min(kAwkward, axis.maximum));
  }
  return Problem::from(definition_.axes, values);
}

bool DefinedFamily::supports(std::string_view backend) const { return code_.contains(language_of(backend)); }

const TemplateSource& DefinedFamily::source(std::string_view backend) const { return *code(backend).source; }

SearchSpace DefinedFamily::space(const DeviceIdentity& device) const {
  std::vector<Parameter> parameters;
  parameters.reserve(definition_.parameters.size());
  for (std::size_t i = 0; i < definition_.parameters.size(); ++i) {
    const KernelDefinition::Tunable& tunable = definition_.parameters[i];
    Parameter& parameter = parameters.emplace_back();
    parameter = {.name = tunable.name, .values = tunable.values, .meaning = tunable.meaning, .active = {}};
    if (!active_[i]) continue;
    parameter.active = [active = *active_[i], device](const Configuration& before) {
      return active.truth(names_of(&before, nullptr, &device));
    };
  }
  std::vector<Constraint> constraints;
  constraints.reserve(constraints_.size());
  for (const Expression& holds : constraints_) {
    Constraint& constraint = constraints.emplace_back();
    constraint.name = holds.text();
    // Known as soon as the last parameter is that it names; before the first if it names none.
    constraint.asks_no_parameter = true;
    for (const KernelDefinition::Tunable& tunable : definition_.parameters) {
      const bool named = std::ranges::find(holds.names(), tunable.name) != holds.names().end();
      if (named) constraint.last = tunable.name;
      constraint.asks_no_parameter = constraint.asks_no_parameter && !named;
    }
    constraint.holds = [holds](const Configuration& configuration, const Problem& problem,
                               const DeviceIdentity& where) {
      return holds.truth(names_of(&configuration, &problem, &where));
    };
    foresee(constraint, holds);
  }
  for (const KernelDefinition::Condition& condition : definition_.conditions) {
    if (!condition.holds) continue;  // a worker process, which is asked about configurations that are allowed
    Constraint& constraint = constraints.emplace_back();
    constraint.name = condition.name;
    constraint.holds = [holds = condition.holds](const Configuration& configuration, const Problem&,
                                                 const DeviceIdentity&) { return holds(configuration); };
  }
  if (runs_cuda_templates(device.backend)) constraints.push_back(launch_limits());
  return {device, std::move(parameters), std::move(constraints)};
}

/// Lets a constraint be judged before all of its parameters are known, by the bounds of their values.
void DefinedFamily::foresee(Constraint& constraint, const Expression& holds) const {
  std::map<std::string, Bounds, std::less<>> bounds;
  for (std::size_t i = 0; i < definition_.parameters.size(); ++i) {
    const KernelDefinition::Tunable& tunable = definition_.parameters[i];
    if (std::ranges::find(holds.names(), tunable.name) == holds.names().end()) continue;
    if (tunable.name != constraint.last) constraint.foresees.push_back(tunable.name);
    if (const auto known = bounds_of(tunable.values); known && !active_[i]) bounds.emplace(tunable.name, *known);
  }
  if (bounds.empty()) return;
  constraint.may_hold = [holds, bounds](const Configuration& before, const Problem& problem,
                                        const DeviceIdentity& where) {
    const auto names = names_of(&before, &problem, &where);
    return holds.may_hold([&](std::string_view name) -> std::variant<std::monostate, Value, Bounds> {
      if (auto value = names(name)) return *std::move(value);
      const auto known = bounds.find(name);
      if (known != bounds.end()) return known->second;
      return {};
    });
  };
}

Constraint DefinedFamily::launch_limits() const {
  // The limits that all CUDA devices have in common; one card may have fewer registers than a block needs.
  constexpr std::int64_t kThreads = 1024, kBlockZ = 64, kGridY = 65535;
  Constraint limits;
  limits.name = kLaunchLimits;
  limits.holds = [this](const Configuration& configuration, const Problem& problem, const DeviceIdentity& device) {
    const Code& own = code(device.backend);
    const auto names = names_of(&configuration, &problem, &device);
    try {
      const Extent grid = extent_of(own.grid, names, "grid"), block = extent_of(own.block, names, "block");
      const std::int64_t shared = own.shared_bytes->integer(names);
      return std::int64_t{block.x} * block.y <= kThreads && std::int64_t{block.x} * block.y * block.z <= kThreads &&
             block.z <= kBlockZ && grid.y <= kGridY && grid.z <= kGridY && shared >= 0 &&
             (device.local_bytes == 0 || shared <= device.local_bytes);
    } catch (const Error&) {  // no such launch
      return false;
    }
  };
  return limits;
}

Configuration DefinedFamily::default_configuration(const DeviceIdentity& device, const Problem&) const {
  const std::string& untuned = code(device.backend).untuned;
  if (!untuned.empty()) return space(device).parse(untuned);
  std::vector<Configuration::Entry> entries;
  entries.reserve(definition_.parameters.size());
  for (std::size_t i = 0; i < definition_.parameters.size(); ++i) {
    const KernelDefinition::Tunable& tunable = definition_.parameters[i];
    const Configuration before(entries);
    if (active_[i] && !active_[i]->truth(names_of(&before, nullptr, &device))) continue;
    entries.emplace_back(tunable.name, tunable.untuned.value_or(tunable.values.front()));
  }
  return Configuration(std::move(entries));
}

Kernels DefinedFamily::kernels(const Configuration& configuration, const Problem& problem,
                               const DeviceIdentity& device) const {
  return {instance(code(device.backend), configuration, names_of(&configuration, &problem, &device))};
}

KernelInstance DefinedFamily::instance(const Code& code, const Configuration& configuration,
                                       const Expression::Names& names) const {
  std::vector<KernelInstance::Definition> definitions;
  if (code.has_macros) {
    for (const auto& [parameter, value] : configuration.entries()) definitions.emplace_back(parameter, text(value));
    for (const auto& [macro, value] : code.macros) definitions.emplace_back(macro, text(value.value(names)));
  }
  return {code.name.filled(names), std::move(definitions)};
}

std::int64_t DefinedFamily::bytes_of(std::size_t argument, const Expression::Names& names) const {
  const std::int64_t elements = arguments_[argument].elements->integer(names);
  if (elements < 0 || elements > kLargestBuffer) {
    throw Error(ErrorKind::input,
                fmt::format("kernel {}: argument {} has {} elements, expected 0 to {}", in_quotes(definition_.name),
                            in_quotes(definition_.arguments[argument].name), elements, kLargestBuffer));
  }
  return elements * size_of(definition_.arguments[argument].type) * definition_.arguments[argument].lanes;
}

Plan DefinedFamily::plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                         std::int64_t samples) const {
  return plan_with({}, configuration, problem, device, samples);
}

Plan DefinedFamily::measured_plan(const Configuration& configuration, const Problem& problem,
                                  const DeviceIdentity& device, std::int64_t samples) const {
  return plan_with(numbers_at(problem), configuration, problem, device, samples);
}

KernelNumbers DefinedFamily::numbers_at(const Problem& problem) const {
  const auto call = examples_.calls.find(problem.text());
  return call == examples_.calls.end() ? KernelNumbers() : call->second;
}

bool DefinedFamily::has_workload(const Problem& problem) const {
  return !captured() || examples_.calls.contains(problem.text());
}

Plan DefinedFamily::plan_with(const KernelNumbers& numbers, const Configuration& configuration, const Problem& problem,
                              const DeviceIdentity& device, std::int64_t samples) const {
  Plan plan = plan_of(code(device.backend), names_of(&configuration, &problem, &device), all_arguments_, numbers);
  plan.kernels = kernels(configuration, problem, device);
  plan.launches.resize(static_cast<std::size_t>(samples), plan.launches.front());
  plan.samples = samples;
  return plan;
}

Plan DefinedFamily::plan_of(const Code& code, const Expression::Names& names, const std::vector<std::size_t>& arguments,
                            const KernelNumbers& numbers, bool named) const {
  Plan plan;
  Launch launch{
      .grid = extent_of(code.grid, names, "grid"), .block = extent_of(code.block, names, "block"), .arguments = {}};
  launch.shared_bytes = code.shared_bytes->integer(names);
  if (launch.shared_bytes < 0) {
    throw Error(ErrorKind::input, fmt::format("shared_bytes {} is {}, expected 0 or more",
                                              in_quotes(code.shared_bytes->text()), launch.shared_bytes));
  }
  plan.buffers = buffers_of(names);
  std::vector<int> buffers;  // of each argument
  buffers.reserve(arguments_.size());
  int count = 0;
  for (const KernelArgument& argument : definition_.arguments) {
    buffers.push_back(count);
    if (argument.is_buffer()) ++count;
  }
  for (const std::size_t i : arguments) {
    const KernelArgument& argument = definition_.arguments[i];
    if (!argument.is_buffer()) {
      launch.arguments.push_back(value_of(argument, arguments_[i].by_value, names));
      if (const auto given = numbers.find(argument.name); given != numbers.end()) {
        if (const auto called = with_bytes(launch.arguments.back(), given->second)) launch.arguments.back() = *called;
      }
    } else if (argument.passed || named) {
      launch.arguments.push_back(BufferArgument{.buffer = buffers[i], .offset = 0});
    }
  }
  plan.launches = {std::move(launch)};
  plan.samples = 1;
  return plan;
}

std::vector<Buffer> DefinedFamily::buffers_of(const Expression::Names& names) const {
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const KernelArgument& argument = definition_.arguments[i];
    if (!argument.is_buffer()) continue;
    buffers.push_back(
        {.name = argument.name, .bytes = bytes_of(i, names), .role = argument.role, .symbol = argument.symbol});
  }
  return buffers;
}

std::vector<Buffer> DefinedFamily::buffers(const Problem& problem) const {
  return buffers_of(names_of(nullptr, &problem, nullptr));
}

Plan DefinedFamily::reference_plan(const LanguageCode& reference, const Expression::Names& names,
                                   const KernelNumbers& numbers) const {
  const auto& [language, code] = reference;
  const std::vector<std::string>& named = definition_.reference.arguments;
  Plan plan = plan_of(code, names, reference_arguments_, numbers, !named.empty());
  const std::string& text = definition_.reference.code.at(language).text;
  const auto own = definition_.code.find(language);
  if (own != definition_.code.end() && text == own->second.text) return plan;
  // A source of its own may take constant memory as an ordinary argument, or do without.
  for (Buffer& buffer : plan.buffers) {
    const std::string variable = buffer.symbol.substr(buffer.symbol.rfind(':') + 1);  // npos + 1 is 0
    const bool taken = std::ranges::find(named, buffer.name) != named.end();
    if (taken || text.find(variable) == std::string::npos) buffer.symbol.clear();
  }
  return plan;
}

Trial DefinedFamily::trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                           std::int64_t samples, std::uint64_t seed) const {
  Plan plan = measured_plan(configuration, problem, device, samples);
  SharedImage before = initial(plan, problem, seed);
  return {.plan = std::move(plan), .initial = std::move(before)};
}

SharedImage DefinedFamily::initial(const Plan& plan, const Problem& problem, std::uint64_t seed) const {
  std::size_t bytes = 0;
  for (const Buffer& buffer : plan.buffers) bytes += static_cast<std::size_t>(buffer.bytes);
  const std::lock_guard lock(filling_);
  return contents_.get(fmt::format("{}, {}", problem.text(), seed), bytes, [&] {
    return examples_.folder.empty() ? contents(plan.buffers, problem, seed)
                                    : saved_example(examples_.folder, problem, plan.buffers);
  });
}

/// The same for all configurations: elements depend on sizes alone.
HostImage DefinedFamily::contents(const std::vector<Buffer>& buffers, const Problem& problem,
                                  std::uint64_t seed) const {
  HostImage image;
  std::mt19937_64 random(seed);
  std::size_t buffer = 0;
  for (const KernelArgument& argument : definition_.arguments) {
    if (!argument.is_buffer()) continue;
    const auto index = static_cast<std::size_t>(&argument - definition_.arguments.data());
    const Buffer& made = buffers[buffer++];
    if (!has_contents(made)) continue;
    std::vector<std::byte>& bytes = image[made.name];
    if (argument.fill.kind == Fill::Kind::file) {
      try {
        bytes = contents_of(index, arguments_[index].file, problem);
        continue;
      } catch (const Error&) {  // check_reference() has looked at the sizes that matter
      }
    }
    const Fill fill = argument.fill.kind == Fill::Kind::file ? Fill{} : argument.fill;
    bytes = filled(fill, argument.type, made.bytes, random);
  }
  return image;
}

std::vector<std::byte> DefinedFamily::contents_of(std::size_t argument, const Pattern& file,
                                                  const Problem& problem) const {
  const auto names = names_of(nullptr, &problem, nullptr);
  const std::filesystem::path path = std::filesystem::path(definition_.folder) / file.filled(names);
  if (!definition_.allow_outside && !leads_below(path, definition_.folder)) {
    throw Error(ErrorKind::input, fmt::format("{} is not in the description's folder; --allow-outside allows that",
                                              in_quotes(path.string())));
  }
  return read_array(path, definition_.arguments[argument].type, bytes_of(argument, names));
}

bool DefinedFamily::is_compared(const KernelArgument& argument) {
  return argument.is_buffer() && argument.compared && argument.role != Role::input && argument.role != Role::scratch;
}

std::optional<HostImage> DefinedFamily::expected_outputs(const Problem& problem) const {
  if (expected_files_.empty()) return std::nullopt;
  HostImage expected;
  try {
    for (const auto& [argument, file] : expected_files_) {
      expected[definition_.arguments[argument].name] = contents_of(argument, file, problem);
    }
  } catch (const Error&) {  // none of these sizes: check_reference() has looked at the sizes that matter
    return std::nullopt;
  }
  return expected;
}

DefinedFamily::ReferenceRun DefinedFamily::reference_run(const Problem& problem, const DeviceIdentity& device) const {
  const Configuration untuned = default_configuration(device, problem);
  if (const auto found = reference_.find(language_of(device.backend)); found != reference_.end()) {
    const auto names = names_of(nullptr, &problem, &device);
    try {
      ReferenceRun run{.source = found->second.source.get(),
                       .plan = reference_plan(*found, names, numbers_at(problem))};
      // Where it is compiled with macros, with those of the default: it may stand in the same file.
      run.plan.kernels = {instance(found->second, untuned, names_of(&untuned, &problem, &device))};
      return run;
    } catch (const Error&) {  // it has no launch here
    }
  }
  ReferenceRun run{.source = &source(device.backend), .plan = {}};
  if (!definition_.reference.configuration.empty()) {
    const SearchSpace whole = space(device);
    const Configuration named = whole.parse(definition_.reference.configuration);
    if (!whole.violated(named, problem)) {
      run.plan = measured_plan(named, problem, device, 1);
      return run;
    }
  }
  run.plan = measured_plan(untuned, problem, device, 1);
  return run;
}

void DefinedFamily::check_reference(const Problem& problem, const DeviceIdentity& device) const {
  for (std::size_t i = 0; i < arguments_.size() && examples_.folder.empty() && !captured(); ++i) {
    if (definition_.arguments[i].fill.kind == Fill::Kind::file) {
      static_cast<void>(contents_of(i, arguments_[i].file, problem));
    }
  }
  if (examples_.checked_elsewhere) return;
  for (const auto& [argument, file] : expected_files_) static_cast<void>(contents_of(argument, file, problem));
  if (const auto found = reference_.find(language_of(device.backend)); found != reference_.end()) {
    static_cast<void>(reference_plan(*found, names_of(nullptr, &problem, &device), {}));
  }
  if (definition_.reference.configuration.empty()) return;
  const SearchSpace whole = space(device);
  const Configuration named = whole.parse(definition_.reference.configuration);
  if (const auto constraint = whole.violated(named, problem)) {
    throw Error(ErrorKind::input, fmt::format("the reference configuration {} violates the constraint {}",
                                              in_quotes(named.text()), in_quotes(*constraint)));
  }
}

std::unique_ptr<Verification> DefinedFamily::verification(const DeviceIdentity& device, std::uint64_t seed,
                                                          RunOnDevice run) const {
  return std::make_unique<DefinedVerification>(*this, device, seed, std::move(run));
}

std::int64_t DefinedFamily::host_threads(const Configuration& configuration, const DeviceIdentity& device) const {
  if (device.backend != "cpu") return 0;
  // The parts of the work may depend on the problem; where they do, one that stands for all.
  const Problem problem = default_problems(device).front();
  return code(device.backend).grid.front().integer(names_of(&configuration, &problem, &device));
}

Work DefinedFamily::work(const Problem& problem) const {
  const auto names = names_of(nullptr, &problem, nullptr);
  Work work;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const KernelArgument& argument = definition_.arguments[i];
    if (!argument.is_buffer()) continue;
    work.bytes += static_cast<double>(bytes_of(i, names));
    if (argument.role != Role::input) work.operations += arguments_[i].elements->real(names);
  }
  if (bytes_) work.bytes = bytes_->real(names);
  if (operations_) work.operations = operations_->real(names);
  work.operations = std::max(work.operations, 1.0);
  return work;
}

double DefinedFamily::difference(const HostImage& found, const HostImage& expected) const {
  double worst = 0.0;
  for (const KernelArgument& argument : definition_.arguments) {
    if (!is_compared(argument)) continue;
    worst = std::max(worst, buffer_difference(argument.type, found.at(argument.name), expected.at(argument.name),
                                              definition_.absolute_tolerance));
  }
  return worst;
}

std::string family_name(const KernelDefinition& kernel) {
  constexpr std::size_t kDigits = 12;  // hexadecimal
  if (kernel.name.find('@') != std::string::npos) return kernel.name;
  const DefinedFamily family(kernel, {});
  std::string hashes;
  for (const auto& [language, code] : kernel.code) hashes += family.source(language).hash();
  if (kernel.code.size() > 1) hashes = digest(hashes);
  return fmt::format("{}@{}", kernel.name, hashes.substr(0, kDigits));
}

FamilyDescription describe(const KernelDefinition& kernel, const KernelExamples& examples) {
  KernelDefinition named = kernel;
  named.name = family_name(kernel);
  FamilyDescription description{.maker = "defined-kernel", .text = write_definition(named, examples)};
  if (!kernel.conditions.empty()) {
    description.here = [named, examples] { return std::make_shared<const DefinedFamily>(named, examples); };
  }
  return description;
}

std::shared_ptr<const KernelFamily> make_defined_family(const std::string& text) {
  auto [definition, examples] = read_definition(text);
  return std::make_shared<const DefinedFamily>(std::move(definition), std::move(examples));
}

}  // namespace heddle
