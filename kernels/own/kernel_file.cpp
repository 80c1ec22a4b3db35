#include "heddle/kernels/own/kernel_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "heddle/kernels/documents.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/expression/expression.hpp"
#include "heddle/kernels/own/argument_value.hpp"
#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/kernels/own/description_merge.hpp"
#include "heddle/kernels/own/description_node.hpp"
#include "heddle/kernels/own/source_folder.hpp"
#include "heddle/kernels/own/t1_file.hpp"
#include "heddle/kernels/search_space.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestDescription = std::size_t{1} << 20U;  // bytes
constexpr std::size_t kMostHeaders = 64, kMostParameters = 256, kMostValues = 10000, kMostConstraints = 1000;
constexpr std::size_t kMostArguments = 256, kMostSizes = 10000, kMostOptions = 64;
constexpr std::size_t kLongestName = 48;  // of a kernel; '@' and the digest follow

nlohmann::json document_in(const fs::path& path) {
  const std::string file = printable(path.string());
  const std::string bytes = bytes_of_file(path, file, kLongestDescription);
  try {
    return parse_json(bytes, {.levels = 8, .values = 100000});
  } catch (const BadDocument& bad) {
    const std::string_view before = std::string_view(bytes).substr(0, std::min(bad.position(), bytes.size()));
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t column =
        before.size() - (before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1);
    throw Error(ErrorKind::input, fmt::format("{}: line {}, column {}: {}", file, line, column + 1, bad.what()));
  }
}

/// Reads one description.
class Reader {
 public:
  /// `file`: as messages call it. `finds_default`: a description that names no default at all has the first
  /// configuration that is allowed.
  Reader(const nlohmann::json& document, std::string file, SourceFolder sources, bool finds_default)
      : file_(std::move(file)), sources_(std::move(sources)), root_(document, file_), finds_default_(finds_default) {}

  KernelDefinition definition() {
    root_.allow_members({"name",         "meaning", "version",    "language",    "source",  "headers",
                         "kernel",       "axes",    "parameters", "constraints", "grid",    "block",
                         "shared_bytes", "options", "arguments",  "sizes",       "awkward", "verification",
                         "work",         "macros",  "metrics"});
    KernelDefinition kernel;
    kernel.name = name();
    if (const auto node = root_.find("meaning")) kernel.meaning = node->text();
    if (const auto node = root_.find("version")) kernel.version = node->text();
    read_axes(kernel);
    read_parameters(kernel);
    if (const auto node = root_.find("constraints")) read_constraints(*node, kernel);
    read_arguments(kernel);
    const auto language = root_.find("language");
    const bool cpu = language && language->one_of({"cuda", "cpu"}) == 1;
    kernel.code[cpu ? "cpu" : "cuda"] = code(cpu);
    read_sizes(kernel);
    kernel.tolerance = usual_tolerance(kernel);
    if (const auto node = root_.find("verification")) read_verification(*node, kernel, cpu ? "cpu" : "cuda");
    if (const auto node = root_.find("work")) read_work(*node, kernel);
    if (const auto node = root_.find("metrics")) read_metrics(*node, kernel);
    if (finds_default_) find_default(kernel);
    try {
      kernel.name = family_name(kernel);
      static_cast<void>(describe(kernel));  // the sources, too, have to be text
    } catch (const Error& error) {
      throw Error(ErrorKind::input, fmt::format("{}: {}", file_, error.what()));
    }
    return kernel;
  }

 private:
  [[nodiscard]] std::string name() const {
    const DescriptionNode node = root_.at("name");
    std::string name = node.text();
    constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";
    if (name.empty() || name.size() > kLongestName || name.find_first_not_of(kAllowed) != std::string::npos) {
      node.expected("1 to 48 letters, digits, '-', '_', '.' and '/'");
    }
    return name;
  }

  void find_default(KernelDefinition& kernel) const {
    const bool named =
        std::ranges::any_of(kernel.parameters, [](const auto& each) { return each.untuned.has_value(); });
    if (named || kernel.parameters.empty() || kernel.problems.empty()) return;
    constexpr std::size_t kMostSteps = 1000000;
    constexpr double kMostSeconds = 10.0;
    bool late = false;
    std::string& untuned = kernel.code.begin()->second.untuned;
    try {
      const auto family = make_defined_family(describe(kernel).text);
      const DeviceIdentity card{.backend = kernel.code.begin()->first, .name = {}, .architecture = {}};
      family->space(card).walk(
          kernel.problems.front(), {},
          [&](const Configuration& first, const auto&) {
            untuned = first.text();
            return false;
          },
          kMostSteps, [&late, stop = stop_after(kMostSeconds)] { return late = stop(); });
    } catch (const Error& error) {
      throw Error(ErrorKind::input, fmt::format("{}: {}", file_, error.what()));
    }
    if (late) {
      root_.refuse(fmt::format("no configuration that is allowed was found within {} s, so a default has to be named",
                               kMostSeconds));
    }
  }

  void read_axes(KernelDefinition& kernel) const {
    for (const DescriptionNode& node : root_.at("axes").elements(32)) {
      Axis axis;
      if (node.value().is_string()) {
        axis.name = node.text();
      } else {
        node.allow_members({"name", "maximum", "weight", "spacing", "zero", "optional"});
        axis.name = node.at("name").text();
        if (const auto member = node.find("maximum")) axis.maximum = member->integer();
        if (const auto member = node.find("weight")) axis.weight = member->real();
        if (const auto member = node.find("spacing")) {
          axis.spacing = static_cast<Spacing>(member->one_of({"ratio", "difference", "equal"}));
        }
        if (const auto member = node.find("zero")) axis.zero_means_none = member->truth();
        if (const auto member = node.find("optional")) axis.optional = member->truth();
      }
      check_name(node, axis.name);
      kernel.axes.push_back(std::move(axis));
      try {
        check_axes(kernel.axes);
      } catch (const Error& error) {
        node.refuse(error.what());
      }
    }
    if (kernel.axes.empty()) root_.at("axes").refuse("there are no sizes");
  }

  /// Names that expressions can ask for.
  static void check_name(const DescriptionNode& node, const std::string& name) {
    try {
      if (Expression(name).names() == std::vector<std::string>{name}) return;
    } catch (const Error&) {  // a number, a keyword, something with blanks
    }
    node.refuse(fmt::format("the name is {}, expected letters, digits and '_', and no keyword", in_quotes(name)));
  }

  void read_parameters(KernelDefinition& kernel) const {
    const auto list = root_.find("parameters");
    if (!list) return;
    for (const DescriptionNode& node : list->elements(kMostParameters)) {
      node.allow_members({"name", "values", "default", "when", "meaning"});
      KernelDefinition::Tunable parameter;
      parameter.name = node.at("name").text();
      check_name(node, parameter.name);
      parameter.values = values(node.at("values"));
      if (const auto member = node.find("default")) {
        parameter.untuned = member->single_value();
        if (std::ranges::find(parameter.values, *parameter.untuned) == parameter.values.end()) {
          member->refuse(fmt::format("{} is none of the values of {}", heddle::text(*parameter.untuned),
                                     in_quotes(parameter.name)));
        }
      }
      if (const auto member = node.find("when")) parameter.active = member->expression();
      if (const auto member = node.find("meaning")) parameter.meaning = member->text();
      kernel.parameters.push_back(std::move(parameter));
    }
  }

  static std::vector<Value> values(const DescriptionNode& node) {
    std::vector<Value> all;
    if (node.value().is_string()) {
      try {
        all = Expression(node.text()).values({});
      } catch (const Error& error) {
        node.refuse(error.what());
      }
    } else {
      const auto elements = node.elements(kMostValues);
      all.reserve(elements.size());
      for (const DescriptionNode& each : elements) all.push_back(each.single_value());
    }
    if (all.empty()) node.refuse("there are no values");
    std::set<std::string> seen;
    for (const Value& value : all) {
      if (!seen.insert(heddle::text(value)).second) {
        node.refuse(fmt::format("the value {} comes twice", heddle::text(value)));
      }
    }
    return all;
  }

  static void read_constraints(const DescriptionNode& list, KernelDefinition& kernel) {
    for (const DescriptionNode& node : list.elements(kMostConstraints)) {
      std::string text = node.text();
      try {
        if (Expression(text).names().empty()) node.refuse(fmt::format("{} names nothing", in_quotes(text)));
      } catch (const Error& error) {
        if (std::string_view(error.what()).starts_with("expression")) node.refuse(error.what());
        throw;
      }
      kernel.constraints.push_back(std::move(text));
    }
  }

  void read_arguments(KernelDefinition& kernel) const {
    const DescriptionNode list = root_.at("arguments");
    for (const DescriptionNode& node : list.elements(kMostArguments)) kernel.arguments.push_back(argument(node));
    const bool writes = std::ranges::any_of(kernel.arguments, [](const KernelArgument& each) {
      return each.is_buffer() && (each.role == Role::output || each.role == Role::state);
    });
    if (!writes) list.refuse("the kernel writes no buffer, expected one with the role output or inout");
    if (std::ranges::none_of(kernel.arguments, &KernelArgument::is_compared)) {
      list.refuse("no output is compared, so nothing would be verified");
    }
  }

  [[nodiscard]] KernelArgument argument(const DescriptionNode& node) const {
    node.allow_members({"name", "type", "value", "elements", "role", "fill", "constant", "passed", "compared", "fields",
                        "bytes", "alignment"});
    KernelArgument argument;
    argument.name = node.at("name").text();
    const DescriptionNode type = node.at("type");
    if (type.value() == "struct") {
      read_struct(node, argument);
      return argument;
    }
    for (const char* const name : {"fields", "bytes", "alignment"}) {
      if (const auto member = node.find(name)) member->refuse("only an argument of type struct has that");
    }
    const auto shape = find_shape(type.text());
    if (!shape)
      type.expected(
          "int8 to int64, uint8 to uint64, half, __nv_bfloat16, float, double, a vector such as float4, "
          "or struct");
    argument.type = shape->type;
    argument.lanes = shape->lanes;
    const auto value = node.find("value"), elements = node.find("elements");
    if (value.has_value() == elements.has_value()) {
      node.refuse("expected a value (a number) or elements (a buffer)");
    }
    if (value) {
      for (const char* const name : {"role", "fill", "constant", "passed", "compared"}) {
        if (const auto member = node.find(name)) member->refuse("a number has none");
      }
      argument.value = value->expression();
      return argument;
    }
    argument.elements = elements->expression();
    constexpr std::array<Role, 4> kBufferRoles{Role::input, Role::output, Role::state, Role::scratch};
    if (const auto role = node.find("role"))
      argument.role = kBufferRoles[role->one_of({"input", "output", "inout", "scratch"})];
    if (const auto member = node.find("fill")) {
      if (argument.role == Role::output || argument.role == Role::scratch) {
        member->refuse("the buffer has no contents before the kernel runs");
      }
      argument.fill = fill(*member);
      if (!fits(argument.fill, argument.type)) {
        member->expected(fmt::format("numbers that a {} can be", name_of(argument.type)));
      }
    }
    read_special(node, argument);
    return argument;
  }

  /// A struct by value: its members, or its bytes.
  static void read_struct(const DescriptionNode& node, KernelArgument& argument) {
    node.allow_members({"name", "type", "fields", "bytes", "alignment"});
    const auto fields = node.find("fields"), bytes = node.find("bytes"), alignment = node.find("alignment");
    if (fields.has_value() == bytes.has_value()) node.refuse("expected the fields of the struct or its bytes");
    if (bytes) {
      argument.bytes = bytes->text();
      argument.alignment = alignment ? alignment->integer() : 1;
      try {
        static_cast<void>(struct_bytes(argument));
      } catch (const Error& error) {
        bytes->refuse(error.what());
      }
      return;
    }
    if (alignment) alignment->refuse("it follows from the fields");
    for (const DescriptionNode& each : fields->elements(kMostArguments)) {
      each.allow_members({"name", "type", "value"});
      const DescriptionNode type = each.at("type");
      const auto shape = find_shape(type.text());
      if (!shape) type.expected("int8 to int64, uint8 to uint64, half, __nv_bfloat16, float, double, or a vector");
      argument.fields.push_back({.name = each.at("name").text(),
                                 .type = shape->type,
                                 .value = each.at("value").expression(),
                                 .lanes = shape->lanes});
    }
    if (argument.fields.empty()) fields->refuse("there are no members");
  }

  /// What few buffers have: constant memory, and outputs that are not verified.
  static void read_special(const DescriptionNode& node, KernelArgument& argument) {
    if (const auto member = node.find("constant")) {
      argument.symbol = member->text();
      if (argument.symbol.empty()) member->expected("the name of a __constant__ variable");
      if (argument.role != Role::input) member->refuse("constant memory is an input");
      argument.passed = false;
    }
    if (const auto member = node.find("passed")) {
      if (argument.symbol.empty()) member->refuse("a buffer that is no constant memory is always passed");
      argument.passed = member->truth();
    }
    if (const auto member = node.find("compared")) {
      if (argument.role != Role::output && argument.role != Role::state) member->refuse("the kernel does not write it");
      argument.compared = member->truth();
    }
  }

  [[nodiscard]] Fill fill(const DescriptionNode& node) const {
    if (node.value().is_number()) return {.kind = Fill::Kind::equal, .from = node.real(), .to = 0.0, .usual = false};
    if (node.value().is_string()) {
      return {.kind = node.one_of({"random", "index"}) == 0 ? Fill::Kind::random : Fill::Kind::index};
    }
    if (const auto member = node.find("file")) {
      node.allow_members({"file"});
      sources_.require_inside(*member, member->text());
      return {.kind = Fill::Kind::file, .usual = false, .file = member->text()};
    }
    node.allow_members({"from", "to"});
    Fill fill{.from = node.at("from").real(), .to = node.at("to").real(), .usual = false};
    if (fill.from > fill.to) node.expected("from to be at most to");
    return fill;
  }

  [[nodiscard]] KernelCode code(bool cpu) const {
    KernelCode code;
    code.text = sources_.text(root_.at("source"), root_.at("source").text());
    read_code(root_, cpu, code);
    if (const auto list = root_.find("macros")) {
      if (!list->value().is_object()) list->expected("an object of expressions");
      for (const auto& [name, value] : list->value().items()) {
        check_name(*list, name);
        code.macros[name] = list->at(name).expression();
      }
    }
    return code;
  }

  /// What a kernel and a reference kernel have in common.
  void read_code(const DescriptionNode& node, bool cpu, KernelCode& code) const {
    if (const auto list = node.find("headers")) {
      for (const DescriptionNode& header : list->elements(kMostHeaders)) {
        std::string text = sources_.text(header, header.text());
        sources_.require_names_inside(header, header.text(), text);
        code.headers[header.text()] = std::move(text);
      }
    }
    const auto source = node.find("source");
    sources_.require_names_inside(source.value_or(node), source ? source->text() : "the source", code.text);
    const DescriptionNode kernel = node.at("kernel");
    code.kernel = kernel.text();
    if (code.kernel.empty()) kernel.expected("the name of a function");
    if (const auto grid = node.find("grid"); grid || !cpu) code.grid = node.at("grid").expressions(3);
    if (const auto block = node.find("block"); block || !cpu) code.block = node.at("block").expressions(3);
    if (const auto shared = node.find("shared_bytes")) code.shared_bytes = shared->expression();
    if (const auto options = node.find("options")) code.options = compile_options(*options);
  }

  [[nodiscard]] CompileOptions compile_options(const DescriptionNode& node) const {
    node.allow_members({"fast_math", "flush_denormals", "contraction", "standard", "extra"});
    CompileOptions options;
    if (const auto member = node.find("fast_math")) options.fast_math = member->truth();
    if (const auto member = node.find("flush_denormals")) options.flush_denormals = member->truth();
    if (const auto member = node.find("contraction")) options.contraction = member->truth();
    if (const auto member = node.find("standard")) {
      options.standard = static_cast<LanguageLevel>(member->one_of({"c++17", "c++20"}));
    }
    if (const auto member = node.find("extra")) {
      const auto words = member->elements(kMostOptions);
      options.extra.reserve(words.size());
      for (const DescriptionNode& word : words) {
        sources_.require_no_path(word, word.text());
        options.extra.push_back(word.text());
      }
    }
    return options;
  }

  static Problem problem(const DescriptionNode& node, const std::vector<Axis>& axes) {
    if (!node.value().is_object()) node.expected("an object of sizes");
    std::vector<Problem::Size> sizes;
    sizes.reserve(axes.size());
    for (const Axis& axis : axes) {
      if (const auto member = node.find(axis.name)) sizes.push_back({.name = axis.name, .value = member->integer()});
    }
    for (const auto& [name, size] : node.value().items()) {
      if (std::ranges::find(axes, name, &Axis::name) == axes.end()) {
        node.refuse(fmt::format("there is no size {}", in_quotes(name)));
      }
    }
    Problem made(std::move(sizes));
    if (const auto why = misfit(made, axes)) node.refuse(*why);
    return made;
  }

  void read_sizes(KernelDefinition& kernel) const {
    if (const auto list = root_.find("sizes")) {
      const auto nodes = list->elements(kMostSizes);
      kernel.problems.reserve(nodes.size());
      for (const DescriptionNode& node : nodes) kernel.problems.push_back(problem(node, kernel.axes));
    }
    if (const auto node = root_.find("awkward")) kernel.awkward = problem(*node, kernel.axes);
  }

  /// Outputs of 16 bits that were rounded another way differ by a unit of the last place, 2^-10 or 2^-7 of their size.
  static double usual_tolerance(const KernelDefinition& kernel) {
    double tolerance = kernel.tolerance;
    for (const KernelArgument& argument : kernel.arguments) {
      if (!argument.is_compared()) continue;
      if (argument.type == ElementType::float16) tolerance = std::max(tolerance, 0x1p-9);
      if (argument.type == ElementType::bfloat16) tolerance = std::max(tolerance, 0x1p-6);
    }
    return tolerance;
  }

  void read_verification(const DescriptionNode& node, KernelDefinition& kernel, const std::string& language) const {
    node.allow_members({"tolerance", "absolute", "reference", "configuration", "expected"});
    if (const auto member = node.find("tolerance")) {
      kernel.tolerance = member->real();
      if (!(kernel.tolerance > 0.0 && kernel.tolerance < 1.0)) member->expected("a number above 0 and below 1");
    }
    if (const auto member = node.find("absolute")) {
      kernel.absolute_tolerance = member->real();
      if (!(kernel.absolute_tolerance >= 0.0)) member->expected("a number from 0");
    }
    const auto reference = node.find("reference"), configuration = node.find("configuration");
    const auto expected = node.find("expected");
    if ((reference ? 1 : 0) + (configuration ? 1 : 0) + (expected ? 1 : 0) > 1) {
      node.refuse("expected one of reference, configuration and expected");
    }
    if (reference) read_reference(*reference, kernel, language);
    if (configuration) kernel.reference.configuration = configuration_in(*configuration, kernel);
    if (expected) read_expected(*expected, kernel);
  }

  void read_reference(const DescriptionNode& node, KernelDefinition& kernel, const std::string& language) const {
    node.allow_members({"source", "headers", "kernel", "grid", "block", "shared_bytes", "options", "arguments"});
    const KernelCode& own = kernel.code.at(language);
    KernelCode code{
        .text = own.text, .kernel = {}, .options = own.options, .headers = own.headers, .macros = own.macros};
    if (const auto source = node.find("source")) {
      code.text = sources_.text(*source, source->text());
      code.headers.clear();
    }
    read_code(node, language == "cpu", code);
    if (code.kernel.find('<') != std::string::npos || code.kernel.find('{') != std::string::npos) code.macros.clear();
    kernel.reference.code[language] = std::move(code);
    if (const auto list = node.find("arguments")) {
      const auto names = list->elements(kMostArguments);
      if (names.empty()) list->expected("the names of arguments");
      for (const DescriptionNode& name : names) {
        if (std::ranges::find(kernel.arguments, name.text(), &KernelArgument::name) == kernel.arguments.end()) {
          name.refuse(fmt::format("there is no argument {}", in_quotes(name.text())));
        }
        kernel.reference.arguments.push_back(name.text());
      }
    }
  }

  /// A text as the database has it, or an object with a value for each parameter.
  static std::string configuration_in(const DescriptionNode& node, const KernelDefinition& kernel) {
    if (node.value().is_string() && !node.text().empty()) return node.text();
    if (!node.value().is_object() || node.value().empty()) node.expected("an object with the values of parameters");
    std::vector<Configuration::Entry> entries;
    for (const auto& [name, value] : node.value().items()) {
      if (std::ranges::find(kernel.parameters, name, &KernelDefinition::Tunable::name) == kernel.parameters.end()) {
        node.refuse(fmt::format("there is no parameter {}", in_quotes(name)));
      }
    }
    for (const KernelDefinition::Tunable& parameter : kernel.parameters) {
      const auto member = node.find(parameter.name);
      if (!member) continue;
      entries.emplace_back(parameter.name, member->single_value());
      if (std::ranges::find(parameter.values, entries.back().second) == parameter.values.end()) {
        member->refuse(fmt::format("{} is none of the values of {}", heddle::text(entries.back().second),
                                   in_quotes(parameter.name)));
      }
    }
    return Configuration(std::move(entries)).text();
  }

  void read_expected(const DescriptionNode& node, KernelDefinition& kernel) const {
    if (!node.value().is_object() || node.value().empty()) node.expected("an object of files by the outputs' names");
    for (const auto& [name, file] : node.value().items()) {
      const DescriptionNode member = node.at(name);
      sources_.require_inside(member, member.text());
      kernel.reference.files[name] = member.text();
    }
  }

  static void read_work(const DescriptionNode& node, KernelDefinition& kernel) {
    node.allow_members({"bytes", "operations"});
    if (const auto member = node.find("bytes")) kernel.bytes = member->expression();
    if (const auto member = node.find("operations")) kernel.operations = member->expression();
  }

  static void read_metrics(const DescriptionNode& node, KernelDefinition& kernel) {
    constexpr std::size_t kMostMetrics = 16, kLongestMetric = 24;
    if (!node.value().is_object() || node.value().size() > kMostMetrics) {
      node.expected(fmt::format("an object of at most {} expressions by their names", kMostMetrics));
    }
    for (const auto& [metric, value] : node.value().items()) {
      if (metric.empty() || metric.size() > kLongestMetric || printable(metric) != metric) {
        node.refuse(
            fmt::format("the name is {}, expected 1 to {} printable characters", in_quotes(metric), kLongestMetric));
      }
      kernel.metrics.emplace_back(metric, node.at(metric).expression());
    }
  }

  std::string file_;
  SourceFolder sources_;
  DescriptionNode root_;
  bool finds_default_;
};

}  // namespace

KernelDefinition read_kernel_file(const fs::path& file, const KernelFileOptions& options) {
  std::string named = printable(file.string());
  nlohmann::json document = document_in(file);
  std::vector<fs::path> folders{file.parent_path()};
  if (!options.with.empty()) folders.push_back(options.with.parent_path());
  const SourceFolder sources(std::move(folders), options.allow_outside);
  const bool t1 = is_t1(document);
  if (t1) {
    const nlohmann::json original = std::move(document);
    document = description_from_t1(DescriptionNode(original, named), sources);
  }
  if (!options.with.empty()) {
    const nlohmann::json changes = document_in(options.with);
    merge_description(document, DescriptionNode(changes, printable(options.with.string())));
    named += " with " + printable(options.with.string());
  }
  KernelDefinition kernel = Reader(document, std::move(named), sources, t1).definition();
  kernel.allow_outside = options.allow_outside;
  std::error_code error;
  const fs::path folder = file.parent_path();
  kernel.folder = fs::weakly_canonical(folder.empty() ? fs::path(".") : folder, error).string();
  return kernel;
}

}  // namespace heddle
