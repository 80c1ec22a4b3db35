#include "heddle/kernels/own/t1_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/expression/expression.hpp"
#include "heddle/kernels/own/argument_value.hpp"
#include "heddle/kernels/own/element_type.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle {

namespace {

using nlohmann::json;

constexpr std::size_t kMostThings = 10000;  // of an array; the description's own limits are lower
constexpr std::size_t kLongestBenchmark = 48;
constexpr std::array<std::string_view, 4> kMemory{"Scalar", "Vector", "Local", "Symbol"};
constexpr std::array<const char*, 3> kDimensions{"X", "Y", "Z"};
constexpr std::array<const char*, 3> kSmallDimensions{"x", "y", "z"};

bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_word(char c) { return starts_word(c) || (c >= '0' && c <= '9'); }

/// Replaces names in an expression by texts. Stops where the result is longer than any expression may be, so that many
/// names of a long list do not fill the memory: whoever reads the expression says so.
std::string substituted(const std::string& expression, const std::map<std::string, std::string>& names) {
  constexpr std::size_t kLongestExpression = 2000;  // bytes, as Expression has it
  std::string all;
  for (std::size_t at = 0; at < expression.size() && all.size() <= kLongestExpression;) {
    if (!starts_word(expression[at])) {
      all += expression[at++];
      continue;
    }
    std::size_t end = at + 1;
    while (end < expression.size() && continues_word(expression[end])) ++end;
    const std::string word = expression.substr(at, end - at);
    const auto found = names.find(word);
    all += found == names.end() ? word : found->second;
    at = end;
  }
  return all;
}

/// What is true of a member that may be missing: 1, true.
bool is_marked(const DescriptionNode& node, const char* name) {
  const auto member = node.find(name);
  if (!member) return false;
  return member->value().is_boolean() ? member->truth() : member->value().is_number() && member->real() != 0.0;
}

class T1Reader {
 public:
  T1Reader(const DescriptionNode& root, const SourceFolder& sources)
      : root_(root),
        sources_(sources),
        space_(root.at("ConfigurationSpace")),
        kernel_(root.at("KernelSpecification")) {}

  json description() {
    if (const auto language = kernel_.find("Language"); language && language->text() != "CUDA") {
      language->expected("CUDA");
    }
    check_version();
    description_["name"] = name();
    description_["axes"] = json::array({json{{"name", "problem"}, {"maximum", 1}}});
    description_["sizes"] = json::array({json{{"problem", 1}}});
    read_source();
    read_parameters();
    read_name();
    read_problem_size();
    read_launch();
    read_options();
    read_arguments();
    read_reference();
    return std::move(description_);
  }

 private:
  void check_version() const {
    const auto general = root_.find("General");
    const auto version = general ? general->find("FormatVersion") : std::nullopt;
    if (!version) return;
    const std::string text = version->value().is_string() ? version->text() : version->value().dump();
    if (text.substr(0, text.find('.')) != "1") version->expected("version 1");
  }

  [[nodiscard]] std::string name() const {
    std::string name = kernel_.at("KernelName").text();
    if (const auto general = root_.find("General")) {
      if (const auto benchmark = general->find("BenchmarkName")) name = benchmark->text();
    }
    for (char& c : name) {
      if (!continues_word(c) && c != '-' && c != '.' && c != '/') c = '-';
    }
    if (name.empty()) kernel_.at("KernelName").expected("the name of a function");
    return name.substr(0, kLongestBenchmark);
  }

  void read_source() {
    const DescriptionNode file = kernel_.at("KernelFile");
    source_ = sources_.text(file, file.text());
    description_["source"] = file.text();
    description_["headers"] = sources_.included(source_);
  }

  /// Parameters that the arguments of a template name stand for their values: "sum<float, block_size_x>".
  void read_name() {
    const DescriptionNode kernel = kernel_.at("KernelName");
    const std::string name = kernel.text();
    if (name.find('{') != std::string::npos) kernel.expected("the name of a function, without braces");
    std::map<std::string, std::string> values;
    for (const std::string& parameter : names_) values[parameter] = fmt::format("{{{}}}", parameter);
    const std::size_t list = std::min(name.find('<'), name.size());
    description_["kernel"] = name.substr(0, list) + substituted(name.substr(list), values);
  }

  void read_parameters() {
    json parameters = json::array(), constraints = json::array();
    for (const DescriptionNode& node : space_.at("TuningParameters").elements(kMostThings)) {
      json parameter{{"name", node.at("Name").text()}, {"values", node.at("Values").value()}};
      if (const auto untuned = node.find("Default")) parameter["default"] = untuned->value();
      names_.push_back(node.at("Name").text());
      lists_[names_.back()] = node.at("Values").value().is_string() ? fmt::format("({})", node.at("Values").text())
                                                                    : node.at("Values").value().dump();
      parameters.push_back(std::move(parameter));
    }
    if (const auto conditions = space_.find("Conditions")) {
      for (const DescriptionNode& node : conditions->elements(kMostThings)) {
        constraints.push_back(node.value().is_object() ? node.at("Expression").text() : node.text());
      }
    }
    description_["parameters"] = std::move(parameters);
    description_["constraints"] = std::move(constraints);
  }

  void read_problem_size() {
    const auto node = kernel_.find("ProblemSize");
    if (!node || node->value().is_null()) return;
    problem_size_ = node->expressions(kDimensions.size());
    lists_["ProblemSize"] = fmt::format("[{}]", fmt::join(problem_size_, ", "));
  }

  /// An expression over the parameters, in which ProblemSize is known.
  [[nodiscard]] std::string sized(const DescriptionNode& node) const {
    const auto size = lists_.find("ProblemSize");
    if (size == lists_.end()) return node.expression();
    return substituted(node.expression(), {*size});
  }

  /// What KernelSpecification says of the dimensions, in LocalSize or GlobalSize; empty where it says nothing.
  [[nodiscard]] std::vector<std::string> extent(const char* member) const {
    std::vector<std::string> all;
    const auto node = kernel_.find(member);
    if (!node || node->value().is_null()) return all;
    for (const char* const dimension : kDimensions) {
      const auto size = node->find(dimension);
      all.push_back(size && !size->value().is_null() ? sized(*size) : "1");
    }
    return all;
  }

  [[nodiscard]] bool is_parameter(const std::string& name) const { return std::ranges::count(names_, name) > 0; }

  void read_launch() {
    std::vector<std::string> block = extent("LocalSize");
    for (std::size_t i = 0; i < kDimensions.size() && block.size() < kDimensions.size(); ++i) {
      const std::string usual = fmt::format("block_size_{}", kSmallDimensions[i]);
      block.push_back(is_parameter(usual) ? usual : "1");
    }
    std::vector<std::string> grid = extent("GlobalSize");
    const bool by_threads = counts_threads();
    if (!problem_size_.empty()) {
      grid = divided(block);
    } else if (grid.empty()) {
      kernel_.refuse("the member 'GlobalSize' or 'ProblemSize' is missing");
    } else if (by_threads) {
      for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = fmt::format("ceil_div({}, {})", grid[i], block[i]);
    }
    json macros{{"kernel_tuner", "1"}};
    for (std::size_t i = 0; i < kDimensions.size(); ++i) {
      const std::string usual = fmt::format("block_size_{}", kSmallDimensions[i]);
      if (!is_parameter(usual)) macros[usual] = block[i];
      macros[fmt::format("grid_size_{}", kSmallDimensions[i])] = grid[i];
    }
    description_["grid"] = grid;
    description_["block"] = block;
    description_["macros"] = std::move(macros);
  }

  /// Whether GlobalSize has threads, as in OpenCL; otherwise blocks.
  [[nodiscard]] bool counts_threads() const {
    const auto kind = kernel_.find("GlobalSizeType");
    if (!kind || kind->value().is_null()) return false;
    return kind->one_of({"CUDA", "OpenCL", "Vulkan"}) == 1;
  }

  /// ProblemSize over GridDivX, GridDivY and GridDivZ. Where these are missing or empty, over the size of a block.
  [[nodiscard]] std::vector<std::string> divided(const std::vector<std::string>& block) const {
    std::vector<std::string> grid;
    for (std::size_t i = 0; i < kDimensions.size(); ++i) {
      if (i >= problem_size_.size()) {
        grid.emplace_back("1");
        continue;
      }
      std::string divisor;
      const auto list = kernel_.find(fmt::format("GridDiv{}", kDimensions[i]));
      if (list && !list->value().is_null()) {
        for (const std::string& each : list->expressions(kMostThings)) {
          divisor += fmt::format("{}({})", divisor.empty() ? "" : " * ", each);
        }
      }
      grid.push_back(fmt::format("ceil_div({}, {})", problem_size_[i], divisor.empty() ? block[i] : divisor));
    }
    return grid;
  }

  void read_options() {
    json options = json::object(), extra = json::array();
    if (const auto list = kernel_.find("CompilerOptions"); list && !list->value().is_null()) {
      for (const DescriptionNode& node : list->elements(kMostThings)) {
        const std::string word = node.text();
        const std::size_t standard = word.find("-std=");
        if (standard == 0 || standard == 1) {  // an older standard than C++17 is not kept
          if (word.ends_with("20")) options["standard"] = "c++20";
        } else if (!word.empty()) {
          sources_.require_no_path(node, word);
          extra.push_back(word);
        }
      }
    }
    options["extra"] = std::move(extra);
    description_["options"] = std::move(options);
  }

  void read_arguments() {
    json arguments = json::array();
    std::vector<std::string> shared;
    const DescriptionNode list = kernel_.at("Arguments");
    const auto nodes = list.elements(kMostThings);
    const bool marked = std::ranges::any_of(
        nodes, [](const auto& node) { return is_marked(node, "Output") && kMemory[memory_of(node)] != "Scalar"; });
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const DescriptionNode& node = nodes[i];
      const auto given = node.find("Name");
      const std::string name = given ? given->text() : fmt::format("argument_{}", i);
      const std::size_t kind = memory_of(node);
      if (kind == 2) {
        shared.push_back(fmt::format("({}) * {}", size(node), bytes_of(node)));
        continue;
      }
      json argument{{"name", name}, {"type", type(node)}};
      if (kind == 0 && is_custom(node)) {
        read_struct(node, argument);
      } else if (kind == 0) {
        argument["value"] = number(node.at("FillValue"), is_whole(node));
      } else {
        read_buffer(node, name, kind == 3, marked, argument);
      }
      arguments.push_back(std::move(argument));
    }
    if (const auto bytes = kernel_.find("SharedMemory"); bytes && takes_shared_memory()) {
      shared.push_back(sized(*bytes));
    }
    if (!shared.empty()) description_["shared_bytes"] = fmt::format("{}", fmt::join(shared, " + "));
    description_["arguments"] = std::move(arguments);
  }

  /// The place of an argument's memory in kMemory.
  static std::size_t memory_of(const DescriptionNode& node) {
    return node.at("MemoryType").one_of({kMemory.begin(), kMemory.end()});
  }

  /// Whether the source declares dynamic shared memory. For a kernel without, SharedMemory says how much of the static
  /// kind there is.
  [[nodiscard]] bool takes_shared_memory() const {
    bool is_extern = false;
    for (std::size_t at = 0; at < source_.size();) {
      const std::string_view rest = std::string_view(source_).substr(at);
      if (rest.starts_with("//") || rest.starts_with("/*")) {
        const std::string_view closing = rest[1] == '/' ? "\n" : "*/";
        const std::size_t end = rest.find(closing, 2);
        at = end == std::string_view::npos ? source_.size() : at + end + closing.size();
      } else if (starts_word(rest.front())) {
        std::size_t length = 1;
        while (length < rest.size() && continues_word(rest[length])) ++length;
        if (is_extern && rest.substr(0, length) == "__shared__") return true;
        is_extern = is_extern || rest.substr(0, length) == "extern";
        at += length;
      } else {
        if (rest.front() == ';' || rest.front() == '{' || rest.front() == '}') is_extern = false;
        ++at;
      }
    }
    return false;
  }

  static ElementShape shape(const DescriptionNode& node) {
    const DescriptionNode type = node.at("Type");
    const std::string name = type.text();
    if (name == "bool" || name == "custom") return {ElementType::uint8, 1};
    // There, a number behind a type is always that of its lanes: float16 is no real of 16 bits.
    const auto found = name == "float16" || name == "bfloat16" ? std::nullopt : find_shape(name);
    if (!found) {
      type.expected("bool, int8 to int64, uint8 to uint64, half, float or double, these with up to 4 lanes, or custom");
    }
    return *found;
  }
  static bool is_custom(const DescriptionNode& node) { return node.at("Type").value() == "custom"; }
  /// Bytes of an element whose type only the kernel knows.
  static std::int64_t custom_bytes(const DescriptionNode& node) {
    constexpr std::int64_t kMost = 4096;
    const DescriptionNode member = node.at("TypeSize");
    const std::int64_t bytes = member.integer();
    if (bytes < 1 || bytes > kMost) member.expected(fmt::format("1 to {}", kMost));
    return bytes;
  }
  static std::string type(const DescriptionNode& node) { return name_of(shape(node)); }
  static bool is_whole(const DescriptionNode& node) { return !is_real(shape(node).type); }
  static std::int64_t bytes_of(const DescriptionNode& node) {
    return is_custom(node) ? custom_bytes(node) : size_of(shape(node).type) * shape(node).lanes;
  }

  /// A struct by value, whose bytes are in a file. Nothing says how it is aligned: to what its size allows, as most
  /// are.
  void read_struct(const DescriptionNode& node, json& argument) const {
    const std::int64_t bytes = custom_bytes(node);
    const auto kind = node.find("FillType");
    if (!kind || kind->text() != "BinaryRaw") {
      node.refuse("a value of type custom is given by FillType BinaryRaw and a file of TypeSize bytes");
    }
    const DescriptionNode source = node.at("DataSource");
    const std::string content = sources_.text(source, source.text());
    if (content.size() != static_cast<std::size_t>(bytes)) {
      source.refuse(fmt::format("{} has {} bytes, expected {}", in_quotes(source.text()), content.size(), bytes));
    }
    argument["type"] = "struct";
    argument["bytes"] = hexadecimal(std::as_bytes(std::span(content)));
    std::int64_t alignment = 1;
    constexpr std::int64_t kUsual = 8;
    while (alignment < kUsual && bytes % (2 * alignment) == 0) alignment *= 2;
    argument["alignment"] = alignment;
  }

  /// A number, or an expression over ProblemSize; 4096.0 is an integer where one is wanted.
  [[nodiscard]] json number(const DescriptionNode& node, bool whole) const {
    if (node.value().is_string()) return sized(node);
    if (node.value().is_boolean()) return node.truth() ? 1 : 0;
    const double real = node.real();
    constexpr double kExact = 0x1p53;
    if (!whole || !node.value().is_number_float()) return node.value();
    if (real != std::floor(real) || std::abs(real) > kExact) node.expected("an integer");
    return static_cast<std::int64_t>(real);
  }

  /// Elements of a buffer. Its expression may name ProblemSize, and a parameter as the list of its values.
  [[nodiscard]] std::string size(const DescriptionNode& node) const {
    const DescriptionNode member = node.at("Size");
    const std::string text = substituted(member.expression(), lists_);
    try {
      return std::to_string(Expression(text).integer({}));
    } catch (const Error& error) {
      member.refuse(error.what());
    }
  }

  void read_buffer(const DescriptionNode& node, const std::string& name, bool symbol, bool marked,
                   json& argument) const {
    argument["elements"] = is_custom(node) ? fmt::format("({}) * {}", size(node), custom_bytes(node)) : size(node);
    const bool output = is_marked(node, "Output");
    std::size_t access = 0;
    if (const auto member = node.find("AccessType")) access = member->one_of({"ReadOnly", "WriteOnly", "ReadWrite"});
    if (access == 0 && output) access = 2;  // an output that is only read is a slip
    argument["role"] = std::array<const char*, 3>{"input", "output", "inout"}[access];
    if (access != 0 && marked && !output) argument["compared"] = false;
    if (access != 1) {
      if (const json contents = fill(node); !contents.is_null()) argument["fill"] = contents;
    }
    const auto memory = node.find("MemType");
    const bool constant = memory && memory->text() == "Constant";
    if (memory && memory->text() == "Texture")
      memory->refuse("texture memory is not known, expected Global or Constant");
    if (!symbol && !constant) return;
    const auto called = node.find("SymbolName");
    argument["constant"] = called ? called->text() : name;
    argument["passed"] = !symbol;
  }

  /// The member `fill` of the description; null for the usual random numbers.
  [[nodiscard]] json fill(const DescriptionNode& node) const {
    const auto kind = node.find("FillType"), value = node.find("FillValue");
    const bool whole = is_whole(node);
    const std::vector<std::string_view> kinds{"Constant", "Random", "Generator", "BinaryRaw", "Script", "BinaryHDF"};
    const std::size_t which = kind ? kind->one_of(kinds) : value ? 0 : 1;
    if (which == 0) return number(node.at("FillValue"), whole);
    if (which == 1 && is_custom(node)) {
      node.refuse(
          "random bytes are no values of a type that is not known; a file given with --with can say what the "
          "buffer holds");
    }
    if (which == 1) {
      if (!value) return {};
      const double most = whole ? std::floor(value->real()) : value->real();
      if (most == 0.0) return 0;
      return json{{"from", std::min(0.0, most)}, {"to", std::max(0.0, most)}};
    }
    if (which == 3) return json{{"file", node.at("DataSource").text()}};
    if (which == 2 && node.at("DataSource").text() == "i") return "index";
    kind->refuse(fmt::format("contents by {}{} are not known; a file given with --with can say what the buffer holds",
                             kinds[which], which == 2 ? " other than \"i\"" : ""));
  }

  /// Expected outputs in bare files.
  void read_reference() {
    const auto list = kernel_.find("ReferenceArguments");
    if (!list) return;
    json verification = json::object();
    for (const DescriptionNode& node : list->elements(kMostThings)) {
      const DescriptionNode kind = node.at("FillType");
      if (kind.text() != "BinaryRaw") {
        kind.refuse(fmt::format("a reference by {} is not known; a file given with --with can name another",
                                in_quotes(kind.text())));
      }
      verification["expected"][node.at("TargetName").text()] = node.at("DataSource").text();
      const auto threshold = node.find("ValidationThreshold"), method = node.find("ValidationMethod");
      if (!threshold) continue;
      const bool absolute = !method || method->text() != "SideBySideRelativeComparison";
      const double most = threshold->real();
      if (absolute ? !(most >= 0.0) : !(most > 0.0 && most < 1.0)) {
        threshold->expected(absolute ? "a number from 0" : "a number above 0 and below 1");
      }
      const char* const member = absolute ? "absolute" : "tolerance";
      verification[member] = std::min(most, verification.value(member, most));  // the strictest counts for all
    }
    if (!verification.empty()) description_["verification"] = std::move(verification);
  }

  const DescriptionNode& root_;
  const SourceFolder& sources_;
  DescriptionNode space_, kernel_;
  json description_ = json::object();
  std::string source_;
  std::vector<std::string> names_;            ///< of the parameters
  std::map<std::string, std::string> lists_;  ///< ProblemSize, and the values of parameters
  std::vector<std::string> problem_size_;     ///< expressions
};

}  // namespace

bool is_t1(const json& document) {
  return document.is_object() && (document.contains("KernelSpecification") || document.contains("ConfigurationSpace"));
}

json description_from_t1(const DescriptionNode& root, const SourceFolder& sources) {
  return T1Reader(root, sources).description();
}

}  // namespace heddle
