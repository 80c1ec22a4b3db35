// Numbers of a fuzzy array where they lie, for other libraries.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "array_view.hpp"
#include "fuzzy_array.hpp"

namespace heddle::python {

/// The lower or upper bounds, the midpoints or the radii: an array with gaps, in which every number is the bound of
/// one cut. Keeps the fuzzy array alive. With the GIL.
class FuzzyView {
 public:
  /// Throws Error(usage) for a part that the array does not have.
  FuzzyView(FuzzyArray array, const std::string& part);

  [[nodiscard]] nanobind::tuple shape() const;
  [[nodiscard]] std::int64_t bits() const { return array_.array().shape().bits; }
  /// Kind and number of the device, as DLPack has them.
  [[nodiscard]] nanobind::tuple device() const;
  /// Waits until the numbers are there; then an interface (`__cuda_array_interface__`), which reads on any stream.
  [[nodiscard]] nanobind::dict interface() const;
  /// The same as a capsule of DLPack, which keeps the fuzzy array alive as long as its taker wants.
  [[nodiscard]] nanobind::object capsule() const;

 private:
  /// The address of the first number, once all of them are there.
  [[nodiscard]] std::byte* wait() const;

  FuzzyArray array_;
  std::int64_t offset_ = 0;  ///< bytes
  std::vector<Dimension> dimensions_;
};

}  // namespace heddle::python
