#include "heddle/kernels/own/definition_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "heddle/kernels/documents.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/own/argument_value.hpp"

namespace heddle {

namespace {

using nlohmann::json;

/// The words of an enumeration in a document, in the order of its values.
template <class Enumeration, std::size_t N>
Enumeration named(const std::array<std::string_view, N>& words, const json& word) {
  const auto found = std::ranges::find(words, word.get_ref<const std::string&>());
  if (found == words.end()) throw Error(ErrorKind::input, fmt::format("there is no {}", excerpt(word)));
  return static_cast<Enumeration>(found - words.begin());
}
template <class Enumeration, std::size_t N>
std::string word_of(const std::array<std::string_view, N>& words, Enumeration value) {
  return std::string(words[static_cast<std::size_t>(value)]);
}

constexpr std::array<std::string_view, 12> kElementTypes{"uint8",   "int32", "uint32", "int64",  "uint64",  "float32",
                                                         "float64", "int8",  "int16",  "uint16", "float16", "bfloat16"};
constexpr std::array<std::string_view, 4> kFills{"random", "equal", "index", "file"};
constexpr std::array<std::string_view, 5> kRoles{"parameter", "state", "input", "output", "scratch"};
constexpr std::array<std::string_view, 3> kSpacings{"ratio", "difference", "equal"};
constexpr std::array<std::string_view, 2> kLevels{"c++17", "c++20"};

json document_of(const Axis& axis) {
  json document{{"name", axis.name},
                {"weight", axis.weight},
                {"maximum", axis.maximum},
                {"spacing", word_of(kSpacings, axis.spacing)},
                {"zero_means_none", axis.zero_means_none},
                {"optional", axis.optional}};
  if (!axis.values.empty()) document["values"] = axis.values;
  return document;
}

Axis axis_from(const json& from) {
  return {.name = from.at("name").get<std::string>(),
          .weight = from.at("weight").get<double>(),
          .maximum = from.at("maximum").get<std::int64_t>(),
          .spacing = named<Spacing>(kSpacings, from.at("spacing")),
          .zero_means_none = from.at("zero_means_none").get<bool>(),
          .optional = from.at("optional").get<bool>(),
          .values = from.value("values", std::vector<std::int64_t>())};
}

json document_of(const KernelCode& code) {
  return {{"text", code.text},
          {"kernel", code.kernel},
          {"untuned", code.untuned},
          {"grid", code.grid},
          {"block", code.block},
          {"shared_bytes", code.shared_bytes},
          {"fast_math", code.options.fast_math},
          {"flush_denormals", code.options.flush_denormals},
          {"contraction", code.options.contraction},
          {"standard", word_of(kLevels, code.options.standard)},
          {"extra", code.options.extra},
          {"headers", code.headers},
          {"macros", code.macros}};
}

KernelCode code_from(const json& from) {
  return {.text = from.at("text").get<std::string>(),
          .kernel = from.at("kernel").get<std::string>(),
          .untuned = from.at("untuned").get<std::string>(),
          .grid = from.at("grid").get<std::vector<std::string>>(),
          .block = from.at("block").get<std::vector<std::string>>(),
          .shared_bytes = from.at("shared_bytes").get<std::string>(),
          .options = {.fast_math = from.at("fast_math").get<bool>(),
                      .flush_denormals = from.at("flush_denormals").get<bool>(),
                      .contraction = from.at("contraction").get<bool>(),
                      .standard = named<LanguageLevel>(kLevels, from.at("standard")),
                      .extra = from.at("extra").get<std::vector<std::string>>()},
          .headers = from.at("headers").get<std::map<std::string, std::string>>(),
          .macros = from.at("macros").get<std::map<std::string, std::string>>()};
}

json document_of(const KernelDefinition::Tunable& tunable) {
  json values = json::array();
  for (const Value& value : tunable.values) values.push_back(json_of(value));
  return {{"name", tunable.name},
          {"values", values},
          {"meaning", tunable.meaning},
          {"active", tunable.active},
          {"untuned", tunable.untuned ? json_of(*tunable.untuned) : json()}};
}

KernelDefinition::Tunable tunable_from(const json& from) {
  KernelDefinition::Tunable tunable{.name = from.at("name").get<std::string>(),
                                    .values = {},
                                    .meaning = from.at("meaning").get<std::string>(),
                                    .active = from.at("active").get<std::string>()};
  tunable.values.reserve(from.at("values").size());
  for (const json& value : from.at("values")) tunable.values.push_back(value_from(value));
  if (const json& untuned = from.at("untuned"); !untuned.is_null()) tunable.untuned = value_from(untuned);
  return tunable;
}

json document_of(const Fill& fill) {
  return {{"kind", word_of(kFills, fill.kind)},
          {"from", fill.from},
          {"to", fill.to},
          {"usual", fill.usual},
          {"file", fill.file}};
}

Fill fill_from(const json& from) {
  return {.kind = named<Fill::Kind>(kFills, from.at("kind")),
          .from = from.at("from").get<double>(),
          .to = from.at("to").get<double>(),
          .usual = from.at("usual").get<bool>(),
          .file = from.at("file").get<std::string>()};
}

json document_of(const KernelArgument::Field& field) {
  return {{"name", field.name},
          {"type", word_of(kElementTypes, field.type)},
          {"lanes", field.lanes},
          {"value", field.value}};
}

KernelArgument::Field field_from(const json& from) {
  return {.name = from.at("name").get<std::string>(),
          .type = named<ElementType>(kElementTypes, from.at("type")),
          .value = from.at("value").get<std::string>(),
          .lanes = from.at("lanes").get<int>()};
}

json document_of(const KernelArgument& argument) {
  json document{{"name", argument.name},
                {"type", word_of(kElementTypes, argument.type)},
                {"elements", argument.elements},
                {"role", word_of(kRoles, argument.role)},
                {"value", argument.value},
                {"lanes", argument.lanes},
                {"fill", document_of(argument.fill)},
                {"symbol", argument.symbol},
                {"passed", argument.passed},
                {"compared", argument.compared}};
  // Only where they are used, so that digests of other kernels stay.
  if (!argument.fields.empty()) {
    document["fields"] = json::array();
    for (const KernelArgument::Field& field : argument.fields) document["fields"].push_back(document_of(field));
  }
  if (!argument.bytes.empty()) {
    document["bytes"] = argument.bytes;
    document["alignment"] = argument.alignment;
  }
  return document;
}

KernelArgument argument_from(const json& from) {
  KernelArgument argument{.name = from.at("name").get<std::string>(),
                          .type = named<ElementType>(kElementTypes, from.at("type")),
                          .elements = from.at("elements").get<std::string>(),
                          .role = named<Role>(kRoles, from.at("role")),
                          .value = from.at("value").get<std::string>(),
                          .lanes = from.at("lanes").get<int>(),
                          .fill = fill_from(from.at("fill")),
                          .symbol = from.at("symbol").get<std::string>(),
                          .passed = from.at("passed").get<bool>(),
                          .compared = from.at("compared").get<bool>()};
  if (const auto fields = from.find("fields"); fields != from.end()) {
    for (const json& field : *fields) argument.fields.push_back(field_from(field));
  }
  argument.bytes = from.value("bytes", std::string());
  argument.alignment = from.value("alignment", std::int64_t{1});
  return argument;
}

json document_of(const std::map<std::string, KernelCode>& code) {
  json document = json::object();
  for (const auto& [language, each] : code) document[language] = document_of(each);
  return document;
}

std::map<std::string, KernelCode> codes_from(const json& from) {
  std::map<std::string, KernelCode> code;
  for (const auto& [language, each] : from.items()) code.emplace(language, code_from(each));
  return code;
}

json document_of(const KernelReference& reference) {
  return {{"code", document_of(reference.code)},
          {"arguments", reference.arguments},
          {"configuration", reference.configuration},
          {"files", reference.files}};
}

KernelReference reference_from(const json& from) {
  return {.code = codes_from(from.at("code")),
          .arguments = from.at("arguments").get<std::vector<std::string>>(),
          .configuration = from.at("configuration").get<std::string>(),
          .files = from.at("files").get<std::map<std::string, std::string>>()};
}

json document_of(const KernelNumbers& numbers) {
  json document = json::object();
  for (const auto& [name, bytes] : numbers) document[name] = hexadecimal(bytes);
  return document;
}

KernelNumbers numbers_from(const json& from) {
  KernelNumbers numbers;
  for (const auto& [name, text] : from.items()) {
    auto bytes = bytes_in(text.get_ref<const std::string&>());
    if (!bytes) throw Error(ErrorKind::input, fmt::format("{} is no number in hexadecimal digits", excerpt(text)));
    numbers.emplace(name, std::move(*bytes));
  }
  return numbers;
}

template <class Things>
json list_of(const Things& things) {
  json list = json::array();
  for (const auto& thing : things) list.push_back(document_of(thing));
  return list;
}

std::pair<KernelDefinition, KernelExamples> definition_from(const json& from) {
  KernelDefinition kernel;
  kernel.name = from.at("name").get<std::string>();
  kernel.meaning = from.at("meaning").get<std::string>();
  kernel.version = from.at("version").get<std::string>();
  for (const json& axis : from.at("axes")) kernel.axes.push_back(axis_from(axis));
  check_axes(kernel.axes);
  kernel.code = codes_from(from.at("code"));
  for (const json& parameter : from.at("parameters")) kernel.parameters.push_back(tunable_from(parameter));
  kernel.constraints = from.at("constraints").get<std::vector<std::string>>();
  for (const json& argument : from.at("arguments")) kernel.arguments.push_back(argument_from(argument));
  kernel.bytes = from.at("bytes").get<std::string>();
  kernel.operations = from.at("operations").get<std::string>();
  for (const json& problem : from.at("problems")) {
    kernel.problems.push_back(Problem::parse(problem.get<std::string>(), kernel.axes));
  }
  const auto awkward = from.at("awkward").get<std::string>();
  if (!awkward.empty()) kernel.awkward = Problem::parse(awkward, kernel.axes);
  kernel.reference = reference_from(from.at("reference"));
  kernel.tolerance = from.at("tolerance").get<double>();
  kernel.absolute_tolerance = from.at("absolute_tolerance").get<double>();
  kernel.folder = from.at("folder").get<std::string>();
  kernel.allow_outside = from.value("allow_outside", true);
  if (const auto conditions = from.find("conditions"); conditions != from.end()) {
    for (const json& name : *conditions) kernel.conditions.push_back({.name = name.get<std::string>(), .holds = {}});
  }
  if (const auto metrics = from.find("metrics"); metrics != from.end()) {
    for (const json& metric : *metrics) {
      kernel.metrics.emplace_back(metric.at(0).get<std::string>(), metric.at(1).get<std::string>());
    }
  }
  KernelExamples examples{.folder = from.at("examples").get<std::string>(),
                          .checked_elsewhere = from.at("checked_elsewhere").get<bool>()};
  if (const auto calls = from.find("calls"); calls != from.end()) {
    for (const auto& [problem, numbers] : calls->items()) examples.calls.emplace(problem, numbers_from(numbers));
  }
  return std::pair(std::move(kernel), std::move(examples));
}

}  // namespace

std::string write_definition(const KernelDefinition& kernel, const KernelExamples& examples) {
  json problems = json::array();
  for (const Problem& problem : kernel.problems) problems.push_back(problem.text());
  json document{{"name", kernel.name},
                {"meaning", kernel.meaning},
                {"version", kernel.version},
                {"axes", list_of(kernel.axes)},
                {"code", document_of(kernel.code)},
                {"parameters", list_of(kernel.parameters)},
                {"constraints", kernel.constraints},
                {"arguments", list_of(kernel.arguments)},
                {"bytes", kernel.bytes},
                {"operations", kernel.operations},
                {"problems", problems},
                {"awkward", kernel.awkward.text()},
                {"reference", document_of(kernel.reference)},
                {"tolerance", kernel.tolerance},
                {"absolute_tolerance", kernel.absolute_tolerance},
                {"folder", kernel.folder},
                {"examples", examples.folder},
                {"checked_elsewhere", examples.checked_elsewhere}};
  if (!kernel.allow_outside) document["allow_outside"] = false;
  for (const KernelDefinition::Condition& condition : kernel.conditions) {
    document["conditions"].push_back(condition.name);
  }
  for (const auto& [name, text] : kernel.metrics) document["metrics"].push_back(json::array({name, text}));
  for (const auto& [problem, numbers] : examples.calls) document["calls"][problem] = document_of(numbers);
  try {
    return document.dump();
  } catch (const json::type_error&) {
    throw Error(ErrorKind::input, fmt::format("kernel '{}': a text in it is not UTF-8", kernel.name));
  }
}

std::pair<KernelDefinition, KernelExamples> read_definition(const std::string& text) {
  try {
    return definition_from(parse_json(text));
  } catch (const BadDocument& bad) {
    throw Error(ErrorKind::input, fmt::format("the description of a kernel: {}", bad.what()));
  } catch (const json::exception&) {
    throw Error(ErrorKind::input, "the description of a kernel: a member is missing, or is of another kind");
  }
}

}  // namespace heddle
