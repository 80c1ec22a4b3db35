#include "heddle/kernels/own/defined_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/array_file.hpp"
#include "heddle/kernels/own/buffer_difference.hpp"
#include "heddle/kernels/own/defined_plan.hpp"
#include "heddle/kernels/own/defined_verification.hpp"
#include "heddle/kernels/own/definition_document.hpp"
#include "heddle/kernels/own/example.hpp"
#include "heddle/kernels/own/expression_names.hpp"
#include "heddle/kernels/own/source_folder.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

constexpr std::int64_t kMostLaunches = 1024;  // of a timed run

}  // namespace

DefinedFamily::DefinedFamily(KernelDefinition definition, KernelExamples examples)
    : examples_(std::move(examples)), kernel_(parse_definition(std::move(definition), captured())) {
  if (const auto why = misfit(awkward_problem(), axes())) {
    throw Error(ErrorKind::input, fmt::format("kernel {}: {}", in_quotes(name()), *why));
  }
}

std::string_view DefinedFamily::verified_against() const {
  if (examples_.checked_elsewhere) return "the program's own check";
  return kernel_.verified_against;
}

WorkRange DefinedFamily::timed_work(const Problem&, const DeviceIdentity&) const {
  return {.least = 1, .most = kMostLaunches};
}

std::vector<Problem> DefinedFamily::default_problems(const DeviceIdentity&) const {
  if (kernel_.definition.problems.empty()) return {awkward_problem()};
  return kernel_.definition.problems;
}

Problem DefinedFamily::awkward_problem() const {
  if (!kernel_.definition.awkward.sizes().empty()) return kernel_.definition.awkward;
  constexpr std::int64_t kAwkward = 97;
  std::vector<AxisValue> values;
  values.reserve(kernel_.definition.axes.size());
  for (const Axis& axis : kernel_.definition.axes) {
    values.emplace_back(axis.spacing == Spacing::equal ? smallest(axis) : std::min(kAwkward, axis.maximum));
  }
  return Problem::from(kernel_.definition.axes, values);
}

bool DefinedFamily::supports(std::string_view backend) const { return kernel_.code.contains(language_of(backend)); }

const TemplateSource& DefinedFamily::source(std::string_view backend) const {
  return *kernel_.code_for(backend).source;
}

Kernels DefinedFamily::kernels(const Configuration& configuration, const Problem& problem,
                               const DeviceIdentity& device) const {
  return {instance_of(kernel_.code_for(device.backend), configuration, names_of(&configuration, &problem, &device))};
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
  Plan plan =
      launch_plan(kernel_, kernel_.code_for(device.backend), names_of(&configuration, &problem, &device), numbers);
  plan.kernels = kernels(configuration, problem, device);
  plan.launches.resize(static_cast<std::size_t>(samples), plan.launches.front());
  plan.samples = samples;
  return plan;
}

std::vector<Buffer> DefinedFamily::buffers(const Problem& problem) const {
  return buffers_of(kernel_, names_of(nullptr, &problem, nullptr));
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
  const bool saved = !examples_.folder.empty();
  // Who needs vectors gets a copy of its own: a program's arrays may fill the memory.
  if (saved && bytes > kMostContents) return saved_example(examples_.folder, problem, plan.buffers);
  const std::lock_guard lock(filling_);
  return *contents_.get(fmt::format("{}, {}", problem.text(), seed), bytes, [&]() -> SharedImage {
    if (saved) return saved_example(examples_.folder, problem, plan.buffers);
    return contents(plan.buffers, problem, seed);
  });
}

/// The same for all configurations: elements depend on sizes alone.
HostImage DefinedFamily::contents(const std::vector<Buffer>& buffers, const Problem& problem,
                                  std::uint64_t seed) const {
  HostImage image;
  Random random(seed);
  std::size_t buffer = 0;
  for (const KernelArgument& argument : kernel_.definition.arguments) {
    if (!argument.is_buffer()) continue;
    const auto index = static_cast<std::size_t>(&argument - kernel_.definition.arguments.data());
    const Buffer& made = buffers[buffer++];
    if (!has_contents(made)) continue;
    std::vector<std::byte>& bytes = image[made.name];
    if (argument.fill.kind == Fill::Kind::file) {
      try {
        bytes = contents_of(index, kernel_.arguments[index].file, problem);
        continue;
      } catch (const Error&) {  // check_reference() has looked at the sizes that matter
      }
    }
    const Fill fill = argument.fill.kind == Fill::Kind::file ? Fill{} : argument.fill;
    bytes = filled(fill, argument.type, made.bytes, random);
  }
  return image;
}

std::vector<std::byte> DefinedFamily::contents_of(std::size_t argument, const ParsedDefinition::Pattern& file,
                                                  const Problem& problem) const {
  const auto names = names_of(nullptr, &problem, nullptr);
  const std::filesystem::path path = std::filesystem::path(kernel_.definition.folder) / file.filled(names);
  if (!kernel_.definition.allow_outside && !leads_below(path, kernel_.definition.folder)) {
    throw Error(ErrorKind::input, fmt::format("{} is not in the description's folder; --allow-outside allows that",
                                              in_quotes(path.string())));
  }
  return read_array(path, kernel_.definition.arguments[argument].type, bytes_of(kernel_, argument, names));
}

std::optional<HostImage> DefinedFamily::expected_outputs(const Problem& problem) const {
  if (kernel_.expected_files.empty()) return std::nullopt;
  HostImage expected;
  try {
    for (const auto& [argument, file] : kernel_.expected_files) {
      expected[kernel_.definition.arguments[argument].name] = contents_of(argument, file, problem);
    }
  } catch (const Error&) {  // none of these sizes: check_reference() has looked at the sizes that matter
    return std::nullopt;
  }
  return expected;
}

DefinedFamily::ReferenceRun DefinedFamily::reference_run(const Problem& problem, const DeviceIdentity& device) const {
  const Configuration untuned = default_configuration(device, problem);
  if (const auto found = kernel_.reference.find(language_of(device.backend)); found != kernel_.reference.end()) {
    const auto names = names_of(nullptr, &problem, &device);
    try {
      ReferenceRun run{.source = found->second.source.get(),
                       .plan = reference_plan(kernel_, *found, names, numbers_at(problem))};
      // Where it is compiled with macros, with those of the default: it may stand in the same file.
      run.plan.kernels = {instance_of(found->second, untuned, names_of(&untuned, &problem, &device))};
      return run;
    } catch (const Error&) {  // it has no launch here
    }
  }
  ReferenceRun run{.source = &source(device.backend), .plan = {}};
  if (!kernel_.definition.reference.configuration.empty()) {
    const SearchSpace whole = space(device);
    const Configuration named = whole.parse(kernel_.definition.reference.configuration);
    if (!whole.violated(named, problem)) {
      run.plan = measured_plan(named, problem, device, 1);
      return run;
    }
  }
  run.plan = measured_plan(untuned, problem, device, 1);
  return run;
}

void DefinedFamily::check_reference(const Problem& problem, const DeviceIdentity& device) const {
  for (std::size_t i = 0; i < kernel_.arguments.size() && examples_.folder.empty() && !captured(); ++i) {
    if (kernel_.definition.arguments[i].fill.kind == Fill::Kind::file) {
      static_cast<void>(contents_of(i, kernel_.arguments[i].file, problem));
    }
  }
  if (examples_.checked_elsewhere) return;
  for (const auto& [argument, file] : kernel_.expected_files) static_cast<void>(contents_of(argument, file, problem));
  if (const auto found = kernel_.reference.find(language_of(device.backend)); found != kernel_.reference.end()) {
    static_cast<void>(reference_plan(kernel_, *found, names_of(nullptr, &problem, &device), {}));
  }
  if (kernel_.definition.reference.configuration.empty()) return;
  const SearchSpace whole = space(device);
  const Configuration named = whole.parse(kernel_.definition.reference.configuration);
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
  return kernel_.code_for(device.backend).grid.front().integer(names_of(&configuration, &problem, &device));
}

Work DefinedFamily::work(const Problem& problem) const {
  const auto names = names_of(nullptr, &problem, nullptr);
  Work work;
  for (std::size_t i = 0; i < kernel_.arguments.size(); ++i) {
    const KernelArgument& argument = kernel_.definition.arguments[i];
    if (!argument.is_buffer()) continue;
    work.bytes += static_cast<double>(bytes_of(kernel_, i, names));
    if (argument.role != Role::input) work.operations += kernel_.arguments[i].elements->real(names);
  }
  const auto count = [&](const Expression& of, const char* member) {
    const auto refuse = [&](const std::string& why) {
      throw Error(ErrorKind::input, fmt::format("kernel {} at {}: work.{}: {}", in_quotes(kernel_.definition.name),
                                                problem.text(), member, why));
    };
    double found = 0.0;
    try {
      found = of.real(names);
    } catch (const Error& error) {
      refuse(error.what());
    }
    if (!(found >= 0.0)) refuse(fmt::format("{} is {}, expected 0 or more", in_quotes(of.text()), found));
    return found;
  };
  if (kernel_.bytes) work.bytes = count(*kernel_.bytes, "bytes");
  if (kernel_.operations) work.operations = count(*kernel_.operations, "operations");
  work.operations = std::max(work.operations, 1.0);
  return work;
}

double DefinedFamily::difference(const HostImage& found, const HostImage& expected) const {
  double worst = 0.0;
  for (const KernelArgument& argument : kernel_.definition.arguments) {
    if (!argument.is_compared()) continue;
    worst = std::max(worst, difference(argument, found.at(argument.name), expected.at(argument.name)));
  }
  return worst;
}

double DefinedFamily::difference(const KernelArgument& argument, const std::vector<std::byte>& found,
                                 const std::vector<std::byte>& expected) const {
  return buffer_difference(argument.type, found, expected, kernel_.definition.absolute_tolerance);
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
