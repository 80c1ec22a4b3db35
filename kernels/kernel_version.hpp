// Which version of a family's kernels something was measured with.
#pragma once

#include <string>

#include "heddle/kernels/kernel_family.hpp"

namespace heddle {

/// Two digests of 32 hexadecimal digits: the program text, and the terms on which the host uses it.
struct KernelVersion {
  std::string source_hash = {};  ///< TemplateSource::hash(): the kernel templates
  /// contract_digest(): the search space, the launches and the compile options. Empty if it is not known: what was
  /// measured before heddle had this digest.
  std::string contract_digest = {};

  bool operator==(const KernelVersion&) const = default;
};

/// Whether times measured with both can be compared. A contract that is not known counts as the other's.
[[nodiscard]] bool comparable(const KernelVersion& a, const KernelVersion& b);

/// The version that the program has on `device`, whose backend the family supports. Takes a few milliseconds.
[[nodiscard]] KernelVersion kernel_version(const KernelFamily& family, const DeviceIdentity& device);

/// A digest of all that decides how a family's kernels are used on a device, beside their text:
///
/// - the compile options;
/// - the search space: parameters with their values, names of constraints, and which of a sample of configurations they
///   allow for some sample problems;
/// - the plans of configurations that they allow: kernels, buffers, and launches with their arguments. Of an argument
///   that is a struct only size and alignment count, since its padding may hold anything.
///
/// Problems and configurations are drawn with a fixed seed from the axes and the space alone, so that the same family
/// has the same digest for the same identity in every process and on every machine. A change that shows at no sample
/// goes unnoticed.
[[nodiscard]] std::string contract_digest(const KernelFamily& family, const DeviceIdentity& device);

}  // namespace heddle
