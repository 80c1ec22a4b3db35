// Operations on arrays of fuzzy numbers: see array.hpp for a whole program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/fuzzy/formula.hpp"
#include "heddle/profiles/knowledge.hpp"
#include "heddle/runtime/dispatch/dispatcher.hpp"
#include "heddle/runtime/fuzzy/array.hpp"
#include "heddle/runtime/fuzzy/given_numbers.hpp"
#include "heddle/runtime/fuzzy/intake.hpp"
#include "heddle/runtime/fuzzy/matrix.hpp"
#include "heddle/runtime/kernel/callable_kernel.hpp"
#include "heddle/runtime/plan/tuned_plan.hpp"

namespace heddle::fuzzy {

struct CalculatorOptions {
  /// Profiles to choose configurations from: a file of 'heddle tune'; empty: ProfileStore::default_file(). There may be
  /// none.
  std::filesystem::path profiles = {};
  /// Told of configurations that failed or are stale, and of formulas that no kernel could be compiled for.
  Notice notice = {};
};

/// What Calculator::sort() gives.
struct Sorted {
  Array numbers;
  std::vector<std::uint32_t> positions;  ///< sorted number i was number positions[i]
};

/// Makes arrays on one device and computes with them. Kernels are chosen from the profiles and compiled when an
/// operation comes for the first time at some sizes. Calls from one thread at a time; the device must outlive it.
class Calculator {
 public:
  explicit Calculator(Device& device, CalculatorOptions options = {});
  Calculator(const Calculator&) = delete;
  Calculator& operator=(const Calculator&) = delete;

  /// An array of such numbers, kept in either layout. Throws Error(input) with the position of one that is no fuzzy
  /// number: nan, a lower bound above the upper one, cuts that are not nested, infinite bounds of a cut that is not the
  /// whole line (tables may have them: see number_table.hpp), a radius below 0, an infinite midpoint.
  template <class Number>
  [[nodiscard]] Array array(const std::vector<Number>& numbers, Layout layout = kNumbers);
  /// The same from the numbers' components, those of a number next to each other. Throws Error(usage) if they are not
  /// as many as the shape says.
  [[nodiscard]] Array array(const ArrayShape& shape, std::span<const std::byte> components);
  /// The same from arrays that the device has already: lower and upper bounds, or midpoints (one column) and radii, in
  /// the layout kNumbers. They are copied there, on their streams, without the host, and may be changed afterwards. For
  /// devices that run CUDA kernels; Error(usage) elsewhere, and for arrays that are of no such shape.
  [[nodiscard]] Array array(Encoding encoding, const GivenNumbers& first, const GivenNumbers& second);
  /// A copy of them, row after row.
  [[nodiscard]] std::shared_ptr<Memory> copy(const GivenNumbers& given);

  /// A formula (kernels/fuzzy/formula.hpp) for each number of arrays of one length and form, in one kernel. Where none
  /// can be compiled, this processor evaluates it, with a notice. Throws Error(usage) for a wrong formula, a name
  /// without an array, and arrays of different length or form.
  [[nodiscard]] Array map(std::string_view formula, const std::map<std::string, Array, std::less<>>& inputs);
  /// `inputs` in the order of Formula::names().
  [[nodiscard]] Array map(const Formula& formula, const std::vector<Array>& inputs);

  /// One number: the sum of all, and that of x[i] y[i]. Their bits, but for the sign of a zero, do not depend on the
  /// device or its configuration (kernels/fuzzy/sums.hpp). Throw what map() throws.
  [[nodiscard]] Array sum(const Array& x);
  [[nodiscard]] Array dot(const Array& x, const Array& y);

  /// A matrix of real numbers, row after row. Throws Error(input) for one that is not finite, and Error(usage) if there
  /// are not rows x columns.
  [[nodiscard]] Matrix matrix(std::int64_t rows, std::int64_t columns, std::span<const float> values);
  [[nodiscard]] Matrix matrix(std::int64_t rows, std::int64_t columns, std::span<const double> values);
  [[nodiscard]] Matrix matrix(const GivenNumbers& given);
  /// A matrix times a vector: a number for each row. The bits are the same everywhere, as those of dot() are. Throws
  /// Error(usage) for a vector of another length than the rows have, or of another type.
  [[nodiscard]] Array product(const Matrix& matrix, const Array& vector);
  /// The same with fuzzy numbers in the matrix, row after row; as many rows as there is room for.
  [[nodiscard]] Array product(const Array& matrix, const Array& vector);

  /// The numbers in the order of their keys, one for each, in the array's type: rising; -0 and 0 are equal, and nan
  /// comes last. Numbers with equal keys keep their order. Throws Error(usage) for fewer or more keys than numbers, and
  /// keys of the other type.
  [[nodiscard]] Sorted sort(const Array& numbers, std::span<const float> keys);
  [[nodiscard]] Sorted sort(const Array& numbers, std::span<const double> keys);
  /// Keys in one column.
  [[nodiscard]] Sorted sort(const Array& numbers, const GivenNumbers& keys);

  /// What runs this formula for arrays of a shape, and why.
  [[nodiscard]] KernelExplanation explain_map(const Formula& formula, const ArrayShape& shape);
  /// Chooses anew, from what the profiles are now.
  void forget_choices();

  [[nodiscard]] Device& device() const noexcept { return device_; }

 private:
  [[nodiscard]] Array make(const ArrayShape& shape);
  [[nodiscard]] CallableKernel& kernel(const KernelFamily& family, std::vector<CallType> types);
  [[nodiscard]] CallableKernel& map_kernel(const Formula& formula, Encoding encoding);
  void evaluate_here(const Formula& formula, const std::vector<Array>& inputs, Array& result) const;
  template <class T>
  [[nodiscard]] Matrix make_matrix(std::int64_t rows, std::int64_t columns, std::span<const T> values);
  /// `entries`: 1 for a matrix of real numbers, 2 for one of fuzzy numbers.
  [[nodiscard]] Array multiply(Memory& matrix, std::int64_t entries, std::int64_t rows, const Array& vector);
  template <class T>
  [[nodiscard]] Sorted sort_by(const Array& numbers, std::span<const T> keys);
  static void require_keys(const Array& numbers, std::int64_t count, std::int64_t bits);
  [[nodiscard]] Sorted sort_by(const Array& numbers, const std::shared_ptr<Memory>& keys);
  /// Runs the plan that is chosen for a problem of a family with these buffers.
  void run(const KernelFamily& family, const Problem& problem, const Bindings& buffers);
  [[nodiscard]] Knowledge knowledge(const KernelFamily& family) const;

  Device& device_;
  CalculatorOptions options_;
  FamilyRegistry families_;
  Intake intake_;
  std::map<std::string, std::unique_ptr<CallableKernel>, std::less<>> kernels_;  // by family
  // The last plan of each family that takes several launches. It keeps its arrays until it runs again.
  std::map<std::string, TunedPlan, std::less<>> plans_;
};

template <class Number>
Array Calculator::array(const std::vector<Number>& numbers, Layout layout) {
  using Real = typename Number::Real;
  const ArrayShape shape = shape_of_numbers<Number>(static_cast<std::int64_t>(numbers.size()), layout);
  std::vector<Real> components(numbers.size() * static_cast<std::size_t>(shape.components()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    FormOf<Number>::Storage::template store<Number::count>(components.data(), shape.numbers,
                                                           static_cast<std::int64_t>(i), 0, numbers[i]);
  }
  return array(shape, std::as_bytes(std::span(components)));
}

}  // namespace heddle::fuzzy
