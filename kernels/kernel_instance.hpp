// What a kernel is called in the source that it is compiled from.
#pragma once

#include <compare>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

/// One kernel: an instance of a template, or an entry point that is compiled with macros. Comparable, so that what is
/// the same is compiled once.
struct KernelInstance {
  using Definition = std::pair<std::string, std::string>;  ///< name and value of a macro

  // Implicit: most kernels are an expression and nothing else.
  KernelInstance(std::string expression) : name(std::move(expression)) {}  // NOLINT(google-explicit-constructor)
  KernelInstance(const char* expression) : name(expression) {}             // NOLINT(google-explicit-constructor)
  KernelInstance(std::string entry_point, std::vector<Definition> macros)
      : name(std::move(entry_point)), definitions(std::move(macros)) {}

  /// "step BLOCK=128 LANES=4": for people, and part of keys.
  [[nodiscard]] std::string text() const {
    std::string line = name;
    for (const auto& [macro, value] : definitions) line.append(" ").append(macro).append("=").append(value);
    return line;
  }

  auto operator<=>(const KernelInstance&) const = default;

  /// A C++ expression over the template, "heddle::sonfin::step<128, 4, 1, 32>"; or, with definitions, the name of a
  /// kernel that is no template.
  std::string name;
  /// Defined before the first line of the source, in this order. Kernels with the same definitions may become one
  /// program, others not: a template with parameters compiles faster than an entry point with definitions.
  std::vector<Definition> definitions;
};

/// Those of a plan.
using Kernels = std::vector<KernelInstance>;

}  // namespace heddle
