#include "heddle/kernels/own/parsed_definition.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/definition_document.hpp"
#include "heddle/kernels/own/expression_names.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

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

/// Reads one definition, in one go.
class DefinitionParser {
 public:
  DefinitionParser(KernelDefinition definition, bool captured) : captured_(captured) {
    parsed_.definition = std::move(definition);
  }

  ParsedDefinition all() {
    check_names();
    read_space();
    for (const KernelArgument& argument : definition_.arguments) read_argument(argument);
    read_work();
    read_code();
    read_reference();
    for (const Problem& problem : definition_.problems) {
      if (const auto why = misfit(problem, definition_.axes)) refuse(*why);
    }
    return std::move(parsed_);  // sources refer to texts of the definition, which stay where they are in its maps
  }

 private:
  using Pattern = ParsedDefinition::Pattern;
  using Code = ParsedDefinition::Code;

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::input, fmt::format("kernel {}: {}", in_quotes(definition_.name), why));
  }

  void check_names() const {
    check_axes(definition_.axes);
    std::vector<std::string> taken = device_names();
    const auto take = [&](const std::string& name) {
      if (std::ranges::find(taken, name) != taken.end())
        refuse(fmt::format("two things are called {}", in_quotes(name)));
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
  }

  void read_space() {
    for (std::size_t i = 0; i < definition_.parameters.size(); ++i) {
      const std::string& text = definition_.parameters[i].active;
      auto& active = parsed_.active.emplace_back();
      if (!text.empty()) active = expression(text, "active", known_names(i, false, true));
    }
    const std::size_t all = definition_.parameters.size();
    for (const std::string& text : definition_.constraints) {
      parsed_.constraints.push_back(expression(text, "constraint", known_names(all, true, true)));
    }
  }

  void check(const KernelArgument& argument) const {
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
  }

  void read_argument(const KernelArgument& argument) {
    check(argument);
    parsed_.kernel_arguments.push_back(parsed_.arguments.size());
    ParsedDefinition::Argument& read = parsed_.arguments.emplace_back();
    if (argument.is_buffer()) {
      read.elements = expression(argument.elements, "elements", known_names(0, true, false));
      read.file = pattern(argument.fill.file, "fill", known_names(0, true, false));
    } else {
      read.by_value = value_expressions(argument);
    }
  }

  void read_work() {
    if (!definition_.bytes.empty()) parsed_.bytes = expression(definition_.bytes, "bytes", known_names(0, true, false));
    if (!definition_.operations.empty()) {
      parsed_.operations = expression(definition_.operations, "operations", known_names(0, true, false));
    }
    for (const auto& [name, text] : definition_.metrics) {
      parsed_.metrics.push_back({name, expression(text, "metrics", names_of_metrics())});
    }
  }

  void read_code() {
    for (const auto& [language, each] : definition_.code) {
      if (language != "cuda" && language != "cpu") {
        refuse(fmt::format("code for {}, expected cuda or cpu", in_quotes(language)));
      }
      parsed_.code.emplace(language, code_of(language, each, known_names(definition_.parameters.size(), true, true)));
    }
    if (parsed_.code.empty()) refuse("there is no code");
  }

  void read_reference() {
    const KernelReference& reference = definition_.reference;
    const auto refuse_reference = [this](const std::string& why) {
      throw Error(ErrorKind::input, fmt::format("kernel {}, the reference: {}", in_quotes(definition_.name), why));
    };
    const auto index_of = [&](const std::string& name) {
      const auto found = std::ranges::find(definition_.arguments, name, &KernelArgument::name);
      if (found == definition_.arguments.end())
        refuse_reference(fmt::format("there is no argument {}", in_quotes(name)));
      return static_cast<std::size_t>(found - definition_.arguments.begin());
    };
    const int kinds = (reference.code.empty() ? 0 : 1) + (reference.configuration.empty() ? 0 : 1) +
                      (reference.files.empty() ? 0 : 1);
    if (kinds > 1) refuse_reference("expected one of a kernel, a configuration and files");

    parsed_.verified_against = "the default configuration: only agreement was checked";
    if (!reference.configuration.empty()) {
      parsed_.verified_against = fmt::format("the configuration {}", in_quotes(reference.configuration));
    }
    for (const auto& [language, each] : reference.code) {
      const auto& read_code =
          parsed_.reference.emplace(language, code_of(language, each, known_names(0, true, true))).first->second;
      parsed_.verified_against = fmt::format("the reference kernel {}", in_quotes(read_code.name.texts.front()));
    }
    if (reference.arguments.empty()) parsed_.reference_arguments = parsed_.kernel_arguments;
    for (const std::string& name : reference.arguments) parsed_.reference_arguments.push_back(index_of(name));
    for (const auto& [name, file] : reference.files) {
      const std::size_t index = index_of(name);
      if (!definition_.arguments[index].is_compared())
        refuse_reference(fmt::format("{} is no output", in_quotes(name)));
      parsed_.expected_files.emplace_back(index, pattern(file, "expected", known_names(0, true, false)));
    }
    if (reference.files.empty()) return;
    if (captured_) {  // the files belong to other contents than those of the call
      parsed_.expected_files.clear();
      return;
    }
    parsed_.verified_against = "the expected outputs in files";
    for (const KernelArgument& argument : definition_.arguments) {
      if (argument.is_compared() && !reference.files.contains(argument.name)) {
        refuse_reference(fmt::format("there is no file for the output {}", in_quotes(argument.name)));
      }
    }
  }

  [[nodiscard]] Expression expression(const std::string& text, const char* of,
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

  /// Names that an expression may ask for: of the first `parameters`, of sizes, of the device.
  [[nodiscard]] std::vector<std::string> known_names(std::size_t parameters, bool axes, bool device) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < parameters; ++i) names.push_back(definition_.parameters[i].name);
    if (axes) {
      for (const Axis& axis : definition_.axes) names.push_back(axis.name);
    }
    if (device) names.insert(names.end(), device_names().begin(), device_names().end());
    return names;
  }

  [[nodiscard]] std::vector<std::string> names_of_metrics() const {
    std::vector<std::string> names = known_names(definition_.parameters.size(), true, false);
    for (const std::string_view name : kMeasuredNames) names.emplace_back(name);
    return names;
  }

  [[nodiscard]] ArgumentExpressions value_expressions(const KernelArgument& argument) const {
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

  [[nodiscard]] Pattern pattern(const std::string& text, const char* of, const std::vector<std::string>& known) const {
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

  /// What stands around the expressions of a function's name goes into the source as it is.
  void check_function(const std::string& text, const std::string& whole) const {
    constexpr std::string_view kMarks = "_:<>,. ()*&+-!~|^%=?";
    const auto is_sound = [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || kMarks.find(c) != std::string_view::npos;
    };
    if (std::ranges::all_of(text, is_sound)) return;
    refuse(fmt::format("kernel is {}, expected a function's name in C++, with values of parameters in braces",
                       in_quotes(whole)));
  }

  [[nodiscard]] Code code_of(const std::string& language, const KernelCode& from,
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
    for (const std::string& text : code.name.texts) check_function(text, from.kernel);
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

  ParsedDefinition parsed_;
  const KernelDefinition& definition_ = parsed_.definition;
  bool captured_;
};

}  // namespace

std::string_view language_of(std::string_view backend) { return runs_cuda_templates(backend) ? "cuda" : backend; }

std::string ParsedDefinition::Pattern::filled(const Expression::Names& names) const {
  std::string all = texts.front();
  for (std::size_t i = 0; i < values.size(); ++i) all += text(values[i].value(names)) + texts[i + 1];
  return all;
}

const ParsedDefinition::Code& ParsedDefinition::code_for(std::string_view backend) const {
  const auto found = code.find(language_of(backend));
  if (found == code.end()) {
    throw Error(ErrorKind::usage,
                fmt::format("kernel {} has no code for {}", in_quotes(definition.name), in_quotes(backend)));
  }
  return found->second;
}

ParsedDefinition parse_definition(KernelDefinition definition, bool captured) {
  return DefinitionParser(std::move(definition), captured).all();
}

}  // namespace heddle
