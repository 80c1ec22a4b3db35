#include "heddle/cli/inspect_kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include "heddle/cli/json.hpp"
#include "heddle/cli/output.hpp"
#include "heddle/cli/problems.hpp"
#include "heddle/kernels/counted.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/argument_value.hpp"
#include "heddle/kernels/own/capture_file.hpp"
#include "heddle/kernels/own/kernel_file.hpp"
#include "heddle/kernels/own/kernel_review.hpp"
#include "heddle/kernels/text.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle::cli {
namespace {

std::string count_text(const SearchSpace::Count& count) {
  // The default is allowed, whatever an estimate finds.
  if (!count.exact && count.configurations < 1.0) return "at least 1";
  return fmt::format("{}{:.0f}", count.exact ? "" : "about ", count.configurations);
}

std::string word_of(Role role) {
  constexpr std::array<const char*, 5> kWords{"parameter", "inout", "input", "output", "scratch"};
  return kWords[static_cast<std::size_t>(role)];
}

/// "input", "output", "constant filter".
std::string role_text(const KernelArgument& argument) {
  if (argument.is_struct()) return "struct";
  if (!argument.is_buffer()) return "number";
  std::string role = word_of(argument.role);
  if (!argument.symbol.empty()) role = fmt::format("constant {}{}", argument.symbol, argument.passed ? ", passed" : "");
  if (!argument.compared) role += ", not compared";
  return role;
}

std::string fill_text(const KernelArgument& argument, bool captured) {
  if (!argument.is_buffer() || argument.role == Role::output || argument.role == Role::scratch) return "";
  if (captured) return "those of the call";
  const Fill& fill = argument.fill;
  if (fill.kind == Fill::Kind::index) return "0, 1, 2, ...";
  if (fill.kind == Fill::Kind::file) return fmt::format("those in {}", printable(fill.file));
  if (fill.kind == Fill::Kind::equal) return fmt::format("{}", fill.from);
  if (!fill.usual) return fmt::format("random, {} to {}", fill.from, fill.to);
  return is_real(argument.type) ? "random, -1 to 1" : "random, 0 to 9";
}

std::string type_text(const KernelArgument& argument) {
  if (!argument.is_struct()) return name_of(ElementShape{argument.type, argument.lanes});
  if (argument.fields.empty()) return "struct of " + counted(struct_bytes(argument).size(), "byte");
  std::vector<std::string> members;
  members.reserve(argument.fields.size());
  for (const KernelArgument::Field& each : argument.fields) {
    members.push_back(fmt::format("{} {}", name_of(ElementShape{each.type, each.lanes}), each.name));
  }
  return fmt::format("struct {{{}}}", fmt::join(members, ", "));
}

std::string value_text(const KernelArgument& argument, bool captured) {
  if (captured) return "that of the call";
  if (!argument.is_struct()) return argument.value;
  if (argument.fields.empty()) return argument.bytes;
  std::vector<std::string> values;
  values.reserve(argument.fields.size());
  for (const KernelArgument::Field& each : argument.fields) values.push_back(each.value);
  return fmt::format("{}", fmt::join(values, ", "));
}

DeviceIdentity identity_for(const KernelFamily& family, const std::string& label) {
  if (!label.empty()) {
    DeviceIdentity identity = open_device(label)->identity();
    if (family.supports(identity.backend)) return identity;
    throw Error(ErrorKind::usage, fmt::format("option --device: {} has no code for {}", family.name(), label));
  }
  for (const DeviceListing& listing : list_devices()) {
    if (listing.identity && family.supports(listing.identity->backend)) return *listing.identity;
  }
  throw Error(ErrorKind::device, fmt::format("no device here can run {}", family.name()));
}

struct Inspected {
  const DefinedFamily& family;
  const DeviceIdentity& device;
  const Problem& problem;
  const KernelReview& review;
};

std::string verified_text(const DefinedFamily& family) {
  const KernelDefinition& kernel = family.definition();
  const std::string absolute =
      kernel.absolute_tolerance > 0.0 ? fmt::format(" or {:g} in each number", kernel.absolute_tolerance) : "";
  return fmt::format("against {}; tolerance {:g} of the norm{}, integers exact", family.verified_against(),
                     kernel.tolerance, absolute);
}

void print_inspection(const std::string& file, const Inspected& what) {
  const KernelDefinition& kernel = what.family.definition();
  const Launch& launch = what.review.plan.launches.front();
  Json parameters = Json::array(), arguments = Json::array();
  for (const KernelDefinition::Tunable& each : kernel.parameters) {
    nlohmann::json values = nlohmann::json::array();
    for (const Value& value : each.values) values.push_back(json_of(value));
    parameters.push_back({{"name", each.name}, {"values", values}, {"when", each.active}, {"meaning", each.meaning}});
  }
  std::size_t buffer = 0;
  for (const KernelArgument& each : kernel.arguments) {
    Json record{{"name", each.name}, {"type", type_text(each)}};
    if (each.is_buffer()) {
      record.update({{"role", word_of(each.role)},
                     {"constant", each.symbol},
                     {"compared", each.is_compared()},
                     {"elements", each.elements},
                     {"bytes", what.review.plan.buffers[buffer++].bytes},
                     {"fill", fill_text(each, what.family.captured())}});
    } else {
      record["value"] = value_text(each, what.family.captured());
    }
    arguments.push_back(std::move(record));
  }
  const auto count = [](const SearchSpace::Count& each) {
    return Json{{"points", each.configurations}, {"exact", each.exact}};
  };
  Json metrics = Json::object();
  for (const auto& [name, value] : kernel.metrics) metrics[name] = value;
  const Work work = what.family.work(what.problem);
  print_document("inspect", {{"description", file},
                             {"kernel", kernel.name},
                             {"meaning", kernel.meaning},
                             {"device", to_json(what.device)},
                             {"problem", to_json(what.problem)},
                             {"before_constraints", count(what.review.points)},
                             {"after_constraints", count(what.review.allowed)},
                             {"parameters", parameters},
                             {"constraints", kernel.constraints},
                             {"arguments", arguments},
                             {"default", what.review.untuned.text()},
                             {"grid", {launch.grid.x, launch.grid.y, launch.grid.z}},
                             {"block", {launch.block.x, launch.block.y, launch.block.z}},
                             {"shared_bytes", launch.shared_bytes},
                             {"work", {{"bytes", work.bytes}, {"operations", work.operations}}},
                             {"metrics", metrics},
                             {"verified_against", what.family.verified_against()},
                             {"tolerance", kernel.tolerance},
                             {"absolute_tolerance", kernel.absolute_tolerance},
                             {"doubts", what.review.doubts}});
}

void print_lines(const Inspected& what) {
  const KernelDefinition& kernel = what.family.definition();
  const auto& [language, code] = *kernel.code.begin();
  print(fmt::format("{}{}{}\n", kernel.name, kernel.meaning.empty() ? "" : ": ", kernel.meaning));
  print(fmt::format("kernel    {} for {}\n", code.kernel, language));
  std::vector<std::string> axes;
  axes.reserve(kernel.axes.size());
  for (const Axis& axis : kernel.axes) axes.push_back(fmt::format("{} {}", axis.name, range_text(axis)));
  print(fmt::format("sizes     {}\n", fmt::join(axes, ", ")));
  print(fmt::format("space     {} points, {} of them allowed at {} on {} ({})\n", count_text(what.review.points),
                    count_text(what.review.allowed), what.problem.text(), what.device.name, what.device.backend));
  const Launch& launch = what.review.plan.launches.front();
  print(fmt::format("default   {}\n", what.review.untuned.text()));
  print(fmt::format("launch    {} x {} x {} blocks of {} x {} x {} threads, {} of shared memory\n", launch.grid.x,
                    launch.grid.y, launch.grid.z, launch.block.x, launch.block.y, launch.block.z,
                    counted(launch.shared_bytes, "byte")));
  const Work work = what.family.work(what.problem);
  print(fmt::format("work      {}, {}\n", counted(work.bytes, "byte"), counted(work.operations, "operation")));
  for (const auto& [name, value] : kernel.metrics) print(fmt::format("metric    {} = {}\n", name, value));
  print(fmt::format("verified  {}\n", verified_text(what.family)));

  Table parameters({{.title = "parameter"}, {.title = "values"}, {.title = "when"}, {.title = "meaning"}});
  for (const KernelDefinition::Tunable& each : kernel.parameters) {
    std::vector<std::string> values;
    values.reserve(each.values.size());
    for (const Value& value : each.values) values.push_back(text(value));
    parameters.row({each.name, fmt::format("{}", fmt::join(values, " ")), each.active, each.meaning});
  }
  if (!kernel.parameters.empty()) print("\n" + parameters.text());
  if (!kernel.constraints.empty()) print("\nconstraints\n");
  for (const std::string& constraint : kernel.constraints) print(fmt::format("  {}\n", constraint));

  Table arguments({{.title = "argument"},
                   {.title = "type"},
                   {.title = "role"},
                   {.title = "elements or value"},
                   {.title = "bytes", .align = Table::Align::right},
                   {.title = "filled with"}});
  std::size_t buffer = 0;
  for (const KernelArgument& each : kernel.arguments) {
    arguments.row({each.name, type_text(each), role_text(each),
                   each.is_buffer() ? each.elements : value_text(each, what.family.captured()),
                   each.is_buffer() ? std::to_string(what.review.plan.buffers[buffer++].bytes) : "",
                   fill_text(each, what.family.captured())});
  }
  print("\n" + arguments.text());
  if (!what.review.doubts.empty()) print("\nwhat looks wrong\n");
  for (const std::string& doubt : what.review.doubts) print(fmt::format("  {}\n", doubt));
}

}  // namespace

bool is_kernel_description(const std::string& file) {
  std::ifstream stream(file);
  char first = '\0';
  return is_capture(file) || (stream >> first && first == '{');
}

int inspect_kernel(const Context& context, const std::string& file, const KernelInspection& options,
                   const Common& common) {
  FamilyRegistry families = context.families;
  const bool captured = is_capture(file);
  if (captured && !options.with.empty()) {
    throw Error(ErrorKind::usage, "option --with: a capture is what it is; changes belong into the program");
  }
  KernelDefinition kernel;
  KernelExamples examples;
  if (captured) {
    KernelCapture capture = read_capture(file, options.allow_outside);
    examples.calls.emplace(capture.problem.text(), std::move(capture.numbers));
    kernel = std::move(capture.kernel);
  } else {
    kernel = read_kernel_file(file, {.allow_outside = options.allow_outside, .with = options.with});
  }
  const auto& family = *families.add(describe(kernel, examples)).defined();
  const DeviceIdentity device = identity_for(family, options.device);
  Sizes sizes;
  for (const std::string& size : options.sizes) read_size(sizes, families, size, false);
  sizes.check_names({&family});
  const Problem problem = sizes.empty() ? family.default_problems(device).front() : one_problem(family, device, sizes);
  if (!family.has_workload(problem)) {
    throw Error(ErrorKind::usage, fmt::format("option --size: the call was captured at {}, not at {}",
                                              family.default_problems(device).front().text(), problem.text()));
  }
  const KernelReview review = review_kernel(family, device, problem);
  const Inspected what{.family = family, .device = device, .problem = problem, .review = review};
  if (common.json) {
    print_inspection(file, what);
  } else {
    print_lines(what);
  }
  return 0;
}

}  // namespace heddle::cli
