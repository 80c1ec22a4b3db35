// What calls of a described kernel pass, and where sizes follow from it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/own/defined_family.hpp"
#include "heddle/runtime/kernel/callable_kernel.hpp"

namespace heddle::python {

/// One argument of a call.
struct Parameter {
  std::string name;
  bool is_buffer = false;
  Role role = Role::input;
  ElementType type = ElementType::float32;
  int lanes = 1;
  std::size_t bytes = 0;   ///< of a value; of a buffer an address
  std::size_t offset = 0;  ///< of the value among all
  bool is_number = false;  ///< of a value: one number, no struct or vector
};

/// What decides the size on an axis where the call does not name it: the value of an argument, or the elements of one.
struct SizeSource {
  std::optional<std::size_t> argument;
  std::vector<std::size_t> numbers;  ///< all arguments whose value is the size, and nothing else
};

/// In the order of a call: what the kernel takes, then what goes to constant memory alone.
struct CallParameters {
  std::vector<Parameter> all;
  std::vector<CallType> types;
  std::vector<SizeSource> size_sources;  ///< by axis
  std::size_t bytes = 0;                 ///< of all values

  /// Throws what a plan of the kernel throws, and Error(usage) for one of several launches.
  CallParameters(const DefinedFamily& family, const DeviceIdentity& device);
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  void add(Parameter parameter, const CallType& type);
  void find_size(const DefinedFamily& family, const Axis& axis);
};

}  // namespace heddle::python
