// What the families of fuzzy numbers have in common: encodings, axes, and the size of their arrays.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/compile_options.hpp"
#include "heddle/kernels/fuzzy/storage.hpp"
#include "heddle/kernels/problem.hpp"
#include "heddle/kernels/search_space.hpp"

namespace heddle::fuzzy {

/// How a cut is kept. Each kernel has a family for either.
enum class Encoding { lower_upper, midpoint_radius };

/// "lu" or "mr": what the name of a family ends with.
[[nodiscard]] std::string_view suffix(Encoding encoding);
/// Reads suffix(). Throws Error(usage) for another word.
[[nodiscard]] Encoding encoding_of(std::string_view text);
/// The template of an encoding's arrays in storage.hpp: "LowerUpperArray".
[[nodiscard]] std::string_view array_template(Encoding encoding);

/// A number of `cuts` cuts has so many components.
[[nodiscard]] constexpr std::int64_t components(Encoding encoding, std::int64_t cuts) {
  return encoding == Encoding::lower_upper ? 2 * cuts : 1 + cuts;
}

/// An array of fuzzy numbers: storage.hpp says where its components lie.
struct ArrayShape {
  Encoding encoding = Encoding::lower_upper;
  std::int64_t numbers = 0;
  std::int64_t cuts = 1;
  std::int64_t bits = 64;  ///< of a component: 32 or 64
  Layout layout = kNumbers;

  [[nodiscard]] bool is_double() const { return bits != 32; }
  [[nodiscard]] std::int64_t components() const { return fuzzy::components(encoding, cuts); }
  [[nodiscard]] std::int64_t bytes() const { return numbers * components() * (is_double() ? 8 : 4); }
  [[nodiscard]] ArrayForm form() const {
    return {numbers, static_cast<int>(cuts), static_cast<int>(bits), static_cast<int>(layout)};
  }
  /// Where component `c` of number `i` lies, in components.
  [[nodiscard]] std::int64_t place(std::int64_t i, std::int64_t c) const {
    return layout == kNumbers ? i * components() + c : c * numbers + i;
  }
};

constexpr std::int64_t kMostCuts = 64;

/// "numbers", the length of an array.
[[nodiscard]] Axis numbers_axis();
/// "cuts", "bits" (32: float, 64: double) and "layout" (1: numbers, 2: cuts), the last axes of every family.
[[nodiscard]] std::vector<Axis> form_axes();
/// The array of `numbers` numbers in the form that a problem has. Bits and layouts that form_constraints() refuse count
/// as the nearest ones.
[[nodiscard]] ArrayShape shape_of(const Problem& problem, Encoding encoding, std::int64_t numbers);
/// That bits are 32 or 64, and the layout 1 or 2.
[[nodiscard]] std::vector<Constraint> form_constraints();

/// "float" or "double".
[[nodiscard]] std::string_view real_name(const ArrayShape& shape);
/// "heddle::fuzzy::LowerUpperArray<double, 4, heddle::fuzzy::kCuts>"
[[nodiscard]] std::string array_name(const ArrayShape& shape);

/// How CUDA templates with fuzzy numbers are compiled: every operation is rounded as it is written, and nothing is
/// flushed to zero. Those for CPUs: cpu_exact_options().
[[nodiscard]] inline CompileOptions compile_options() { return {.flush_denormals = false, .contraction = false}; }

}  // namespace heddle::fuzzy
