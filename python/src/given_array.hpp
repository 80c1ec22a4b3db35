// An array of any library, which lies where a calculator of fuzzy numbers computes.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "array_view.hpp"
#include "fuzzy_array.hpp"
#include "heddle/runtime/fuzzy/given_numbers.hpp"

namespace heddle::python {

/// Keeps the array alive. With the GIL.
class GivenArray {
 public:
  /// `what`: its name in messages. Throws Error(input) for one that lies elsewhere, or in no memory that the device
  /// has.
  GivenArray(nanobind::object array, const std::string& what, const Desk& desk);

  [[nodiscard]] nanobind::tuple shape() const;
  /// The same numbers, with a second index of one value.
  [[nodiscard]] GivenArray column() const;
  [[nodiscard]] std::string type() const { return text(view_->kind); }  ///< "float32"
  /// Of one or two dimensions, of float32 or float64; neither is checked here.
  [[nodiscard]] const fuzzy::GivenNumbers& numbers() const { return numbers_; }

 private:
  nanobind::object array_;
  std::shared_ptr<const ArrayView> view_;
  std::vector<std::int64_t> shape_;
  fuzzy::GivenNumbers numbers_;
};

}  // namespace heddle::python
