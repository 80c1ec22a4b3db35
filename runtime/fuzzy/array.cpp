#include "heddle/runtime/fuzzy/array.hpp"

#include <fmt/format.h>

#include "heddle/kernels/error.hpp"
#include "heddle/runtime/fuzzy/array_layout.hpp"
#include "heddle/runtime/fuzzy/calculator.hpp"

namespace heddle::fuzzy {
namespace {

Array with_two(const char* formula, const Array& a, const Array& b) {
  return a.calculator().map(Formula(formula), {a, b});
}
Array with_one(const char* formula, const Array& a) { return a.calculator().map(Formula(formula), {a}); }

}  // namespace

std::vector<std::byte> Array::components() const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(shape_.bytes()));
  memory_->read(bytes);
  return in_layout(bytes, shape_, kNumbers);
}

void Array::require_form(const ArrayShape& form) const {
  const auto text = [](const ArrayShape& shape) {
    return fmt::format("{} of {} cuts, encoded {}", real_name(shape), shape.cuts, suffix(shape.encoding));
  };
  if (form.encoding == shape_.encoding && form.cuts == shape_.cuts && form.bits == shape_.bits) return;
  throw Error(ErrorKind::usage,
              fmt::format("fuzzy array: numbers asked for as {}, the array has {}", text(form), text(shape_)));
}

Array operator+(const Array& a, const Array& b) { return with_two("a + b", a, b); }
Array operator-(const Array& a, const Array& b) { return with_two("a - b", a, b); }
Array operator*(const Array& a, const Array& b) { return with_two("a * b", a, b); }
Array operator/(const Array& a, const Array& b) { return with_two("a / b", a, b); }
Array operator-(const Array& a) { return with_one("-a", a); }
Array min(const Array& a, const Array& b) { return with_two("min(a, b)", a, b); }
Array max(const Array& a, const Array& b) { return with_two("max(a, b)", a, b); }
Array sqrt(const Array& a) { return with_one("sqrt(a)", a); }
Array exp(const Array& a) { return with_one("exp(a)", a); }
Array log(const Array& a) { return with_one("log(a)", a); }

}  // namespace heddle::fuzzy
