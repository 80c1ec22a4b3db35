#include "heddle/kernels/fuzzy/map.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/fuzzy/elementwise_family.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/kernels/text.hpp"

namespace heddle::fuzzy {
namespace {

using Operation = Formula::Operation;
using Step = Formula::Step;

/// One bound as an expression of the type that T is.
std::string bound_text(double in_double, double in_float) {
  const auto text = [](double value) {
    if (std::isinf(value)) return std::string(value < 0.0 ? "-Traits<T>::infinity" : "Traits<T>::infinity");
    return fmt::format("{:a}", value);
  };
  return in_double == in_float ? fmt::format("T({})", text(in_double))
                               : fmt::format("(sizeof(T) == 4 ? T({}) : T({}))", text(in_float), text(in_double));
}

/// A step as an expression over the steps before it.
std::string expression_of(const Step& step) {
  switch (step.operation) {
    case Operation::input:
      return fmt::format("x[{}]", step.number);
    case Operation::constant: {
      const auto low = static_cast<double>(narrowed_down<float>(step.at_least));
      const auto high = static_cast<double>(narrowed_up<float>(step.at_most));
      return fmt::format("enclosed<Number>({}, {})", bound_text(step.at_least, low), bound_text(step.at_most, high));
    }
    case Operation::negate:
      return fmt::format("-v{}", step.left);
    case Operation::add:
      return fmt::format("v{} + v{}", step.left, step.right);
    case Operation::subtract:
      return fmt::format("v{} - v{}", step.left, step.right);
    case Operation::multiply:
      return fmt::format("v{} * v{}", step.left, step.right);
    case Operation::divide:
      return fmt::format("v{} / v{}", step.left, step.right);
    case Operation::power:
      return fmt::format("pow(v{}, {})", step.left, step.number);
    case Operation::sqrt:
      return fmt::format("sqrt(v{})", step.left);
    case Operation::exp:
      return fmt::format("exp(v{})", step.left);
    case Operation::log:
      return fmt::format("log(v{})", step.left);
    case Operation::min:
      return fmt::format("min(v{}, v{})", step.left, step.right);
    case Operation::max:
      return fmt::format("max(v{}, v{})", step.left, step.right);
  }
  return {};
}

/// "heddle/kernels/fuzzy/formula_operation": what both backends compile.
std::string operation_text(const Formula& formula) {
  std::string text = fmt::format(
      "// {}\n#pragma once\n#include \"heddle/kernels/fuzzy/enclosed.hpp\"\nnamespace heddle::fuzzy {{\n"
      "struct FormulaOf {{\n  template <class Number>\n"
      "  HEDDLE_EITHER Number operator()(const Number (&x)[{}]) const {{\n    using T = typename Number::Real;\n"
      "    (void)T();\n",
      formula.canonical(), formula.names().size());
  const std::vector<Step>& steps = formula.steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    text += fmt::format("    const Number v{} = {};\n", i, expression_of(steps[i]));
  }
  return text + fmt::format("    return v{};\n  }}\n}};\n}}\n", steps.size() - 1);
}

std::string cuda_text(const Formula& formula) {
  std::string parameters, pointers;
  for (std::size_t i = 1; i <= formula.names().size(); ++i) {
    parameters += fmt::format("const void* x{}, ", i);
    pointers += fmt::format("{}x{}", i == 1 ? "" : ", ", i);
  }
  return fmt::format(
      "#include \"heddle/kernels/fuzzy/cuda/elementwise.cuh\"\n#include \"formula.hpp\"\nnamespace heddle::fuzzy {{\n"
      "template <class Array, int count, int vector, int coarsen, int block>\n"
      "__global__ void __launch_bounds__(block) map({}void* result, ArrayForm form) {{\n"
      "  const void* const arrays[] = {{{}}};\n"
      "  each<Array, count, vector, coarsen, block>(arrays, result, form.numbers, FormulaOf());\n}}\n}}\n",
      parameters, pointers);
}

std::string cpu_text(const Formula& formula) {
  return fmt::format(
      "#include \"heddle/kernels/fuzzy/cpu/map.hpp\"\n#include \"formula.hpp\"\nnamespace heddle::fuzzy::cpu {{\n"
      "template <class Array, int tile>\n"
      "void map(const heddle::cpu::LaunchContext& context, void* const* arguments) {{\n"
      "  each<Array, tile, {}>(context, arguments, FormulaOf());\n}}\n}}\n",
      formula.names().size());
}

class MapFamily final : public ElementwiseFamily {
 public:
  MapFamily(Formula formula, Encoding encoding)
      : ElementwiseFamily(map_name(formula, encoding),
                          fmt::format("{} for arrays of fuzzy numbers", formula.canonical()), encoding,
                          with_form_axes({numbers_axis()})),
        formula_(std::move(formula)),
        operation_(operation_text(formula_)),
        on_cuda_(cuda_text(formula_)),
        on_cpu_(cpu_text(formula_)),
        cuda_(TemplateSource::own({{"map.cuh", on_cuda_}, {"formula.hpp", operation_}}, compile_options())),
        cpu_(TemplateSource::own({{"map.hpp", on_cpu_}, {"formula.hpp", operation_}}, cpu_exact_options())) {
    inputs_.reserve(formula_.names().size());
    for (std::size_t i = 1; i <= formula_.names().size(); ++i) inputs_.push_back(fmt::format("x{}", i));
  }

  const TemplateSource& source(std::string_view backend) const override { return backend == "cpu" ? cpu_ : cuda_; }

 protected:
  const std::vector<std::string>& inputs() const override { return inputs_; }
  bool works_cut_by_cut() const override { return formula_.works_cut_by_cut(encoding()); }
  /// Neighbouring threads read neighbouring memory: cuts where numbers lie together, numbers where cuts do. A thread
  /// does one cut, or what was faster than that (docs/performance.md, "Where a search found better"): two of many in
  /// midpoint-radius form, which share its midpoint, and all of them where that form's cuts lie apart.
  std::int64_t untuned_slice(const Problem& problem) const override {
    const bool lower_upper = encoding() == Encoding::lower_upper;
    if (problem.at("layout") == kCuts) return lower_upper ? 1 : 0;
    const std::int64_t few = problem.at("bits") == 32 ? 2 : 4;
    return !lower_upper && problem.at("cuts") > few && problem.at("cuts") % 2 == 0 ? 2 : 1;
  }
  std::string cuda_kernel() const override { return "heddle::fuzzy::map"; }
  std::string cpu_kernel(const Configuration& configuration, const ArrayShape& shape, std::int64_t) const override {
    return fmt::format("heddle::fuzzy::cpu::map<{}, {}>", array_name(shape), configuration.number("tile"));
  }
  std::vector<Problem::Size> own_sizes(bool) const override { return {}; }
  std::vector<Argument> own_arguments(const Problem&) const override { return {}; }
  double operations(const Problem&) const override {
    return static_cast<double>(formula_.steps().size() - formula_.names().size()) + 1.0;
  }
  std::vector<std::byte> evaluated(const Problem&, const ArrayShape& shape,
                                   const std::vector<std::span<const std::byte>>& arrays) const override {
    return evaluate(formula_, shape, arrays);
  }

 private:
  Formula formula_;
  std::vector<std::string> inputs_;
  std::string operation_, on_cuda_, on_cpu_;
  TemplateSource cuda_, cpu_;
};

}  // namespace

FamilyDescription describe_map(const Formula& formula, Encoding encoding) {
  return {.maker = "fuzzy-map", .text = fmt::format("{} {}", suffix(encoding), formula.canonical())};
}

std::string map_name(const Formula& formula, Encoding encoding) {
  constexpr std::size_t kDigits = 12;
  return fmt::format("fuzzy-map-{}@{}", suffix(encoding), digest(formula.canonical()).substr(0, kDigits));
}

std::shared_ptr<const KernelFamily> make_map_family(const std::string& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) {
    throw Error(ErrorKind::usage,
                fmt::format("fuzzy-map: found {}, expected an encoding and a formula", in_quotes(text)));
  }
  return std::make_shared<const MapFamily>(
      Formula(std::string_view(text).substr(space + 1), Formula::kLongestCanonical),
      encoding_of(std::string_view(text).substr(0, space)));
}

}  // namespace heddle::fuzzy
