// Numbers of a program go from its own arrays on a device to memory of heddle's there, and are looked at, without a way
// by the host.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/fuzzy/problem.hpp"
#include "heddle/kernels/template_source.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/fuzzy/given_numbers.hpp"

namespace heddle::fuzzy {

/// Where the columns of a table go in rows of `components` reals: to `first`, `first + step`, ...
struct Places {
  std::int64_t components = 1, first = 0, step = 1;
};

/// For devices that run CUDA kernels, which are compiled when they are needed for the first time. Calls from one thread
/// at a time; the device must outlive it.
class Intake {
 public:
  explicit Intake(Device& device);

  /// Copies on the stream of the numbers, and waits: afterwards they may be written or freed. Throws DeviceFailure, and
  /// Error(usage) on a device that runs no CUDA kernels.
  void copy(const GivenNumbers& from, Memory& to, Places places);

  /// The position of the first number of an array, in layout kNumbers, that is no fuzzy number.
  [[nodiscard]] std::optional<std::int64_t> first_fault(const ArrayShape& shape, Memory& array);
  /// Of the first of `count` reals that is not finite.
  [[nodiscard]] std::optional<std::int64_t> first_infinite(std::int64_t count, std::int64_t bits, Memory& reals);

 private:
  [[nodiscard]] std::optional<std::int64_t> first_fault(const std::string& rule, std::int64_t bits, std::int64_t rows,
                                                        std::int64_t components, Memory& array);
  void launch(const std::string& kernel, std::int64_t threads, std::vector<Buffer> buffers,
              std::vector<Argument> arguments, void* const* values, std::optional<Stream> stream);

  Device& device_;
  TemplateSource source_;
  std::map<std::string, std::shared_ptr<const Binary>> compiled_;  // by kernel
};

}  // namespace heddle::fuzzy
