// Arrays of fuzzy numbers on a device:
//
//     using Number = fuzzy::LowerUpper<double, 4>;
//     const auto device = open_device("cuda");
//     fuzzy::Calculator calculator(*device);
//     // From two std::vector<Number>:
//     const fuzzy::Array x = calculator.array(numbers), y = calculator.array(others);
//     const fuzzy::Array z = calculator.map("exp(x)/y - 1", {{"x", x}, {"y", y}});
//     const std::vector<Number> results = (z * z).numbers<Number>();
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "heddle/kernels/fuzzy/problem.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle::fuzzy {

class Calculator;

/// Fuzzy numbers of one form in the memory of a device. A value: its numbers never change, so copies share them. The
/// calculator that made it, and its device, must outlive it. Calls from one thread at a time.
class Array {
 public:
  [[nodiscard]] const ArrayShape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::int64_t size() const noexcept { return shape_.numbers; }

  /// All numbers, on the host. `Number`: a LowerUpper or MidpointRadius of the array's type, encoding and cuts. Throws
  /// Error(usage) for another one. Waits for the operations that make the array.
  template <class Number>
  [[nodiscard]] std::vector<Number> numbers() const;
  /// The same as components, those of a number next to each other (kNumbers).
  [[nodiscard]] std::vector<std::byte> components() const;

  /// In the array's own layout.
  [[nodiscard]] const std::shared_ptr<Memory>& memory() const noexcept { return memory_; }
  [[nodiscard]] Calculator& calculator() const noexcept { return *calculator_; }

 private:
  friend class Calculator;
  Array(Calculator& calculator, const ArrayShape& shape, std::shared_ptr<Memory> memory)
      : calculator_(&calculator), shape_(shape), memory_(std::move(memory)) {}
  void require_form(const ArrayShape& form) const;

  Calculator* calculator_;
  ArrayShape shape_;
  std::shared_ptr<Memory> memory_;
};

// Number by number, as the number types define it (kernels/fuzzy/): one launch each, so that a formula given to
// Calculator::map() is faster than several of them. Throw Error(usage) for arrays of different length or form.
[[nodiscard]] Array operator+(const Array& a, const Array& b);
[[nodiscard]] Array operator-(const Array& a, const Array& b);
[[nodiscard]] Array operator*(const Array& a, const Array& b);
[[nodiscard]] Array operator/(const Array& a, const Array& b);
[[nodiscard]] Array operator-(const Array& a);
[[nodiscard]] Array min(const Array& a, const Array& b);
[[nodiscard]] Array max(const Array& a, const Array& b);
[[nodiscard]] Array sqrt(const Array& a);
[[nodiscard]] Array exp(const Array& a);
[[nodiscard]] Array log(const Array& a);

/// The form of arrays of `Number`, and how its numbers lie in memory.
template <class Number>
struct FormOf;
template <class T, int cuts>
struct FormOf<LowerUpper<T, cuts>> {
  using Storage = LowerUpperArray<T, cuts, kNumbers>;
  static constexpr Encoding encoding = Encoding::lower_upper;
};
template <class T, int cuts>
struct FormOf<MidpointRadius<T, cuts>> {
  using Storage = MidpointRadiusArray<T, cuts, kNumbers>;
  static constexpr Encoding encoding = Encoding::midpoint_radius;
};

/// The shape of an array of `count` such numbers.
template <class Number>
[[nodiscard]] ArrayShape shape_of_numbers(std::int64_t count, Layout layout = kNumbers) {
  return {.encoding = FormOf<Number>::encoding,
          .numbers = count,
          .cuts = Number::count,
          .bits = 8 * static_cast<std::int64_t>(sizeof(typename Number::Real)),
          .layout = layout};
}

template <class Number>
std::vector<Number> Array::numbers() const {
  using Real = typename Number::Real;
  require_form(shape_of_numbers<Number>(size()));
  const std::vector<std::byte> all = components();
  std::vector<Number> numbers(static_cast<std::size_t>(size()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = FormOf<Number>::Storage::template load<Number::count>(reinterpret_cast<const Real*>(all.data()),
                                                                       size(), static_cast<std::int64_t>(i), 0);
  }
  return numbers;
}

}  // namespace heddle::fuzzy
