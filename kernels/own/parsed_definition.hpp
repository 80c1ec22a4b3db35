// A kernel's definition with its expressions read.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/expression/expression.hpp"
#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/own/argument_value.hpp"
#include "heddle/kernels/own/kernel_definition.hpp"
#include "heddle/kernels/template_source.hpp"

namespace heddle {

/// "cuda" for all backends that run its templates.
[[nodiscard]] std::string_view language_of(std::string_view backend);

struct ParsedDefinition {
  /// A text in which expressions in braces stand for their values.
  struct Pattern {
    std::vector<std::string> texts{{}};  ///< one more than `values`, which stand between them
    std::vector<Expression> values;
    [[nodiscard]] std::string filled(const Expression::Names& names) const;
  };
  /// KernelCode with its expressions read.
  struct Code {
    /// All that decides what the kernel computes beside its text, so that the hash of the source covers it.
    std::unique_ptr<const std::string> contract;
    std::unique_ptr<TemplateSource> source;
    Pattern name;
    std::vector<std::pair<std::string, Expression>> macros;
    bool has_macros = false;  ///< the active parameters, and `macros`
    std::string untuned;
    std::vector<Expression> grid, block;
    std::optional<Expression> shared_bytes;
  };
  struct Argument {
    std::optional<Expression> elements;
    ArgumentExpressions by_value;
    Pattern file;  ///< that it is filled from
  };

  KernelDefinition definition;
  std::vector<std::optional<Expression>> active;  ///< of each parameter: whether it has a meaning
  std::vector<Expression> constraints;
  std::vector<Argument> arguments;
  std::optional<Expression> bytes, operations;
  std::vector<Metric> metrics;
  std::map<std::string, Code, std::less<>> code, reference;        ///< by language
  std::vector<std::size_t> kernel_arguments, reference_arguments;  ///< indices
  std::vector<std::pair<std::size_t, Pattern>> expected_files;     ///< by the index of the argument
  std::string verified_against;

  /// Of the backend's language. Throws Error(usage) if there is none.
  [[nodiscard]] const Code& code_for(std::string_view backend) const;
};

/// Throws Error(input) with what is wrong. `captured`: contents and numbers are those of calls, to which no expected
/// files belong.
[[nodiscard]] ParsedDefinition parse_definition(KernelDefinition definition, bool captured);

}  // namespace heddle
