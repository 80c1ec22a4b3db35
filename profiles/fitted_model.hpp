// What the parts of a unit of work cost on one device: the weights of a family's model of times, fitted to
// measurements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/kernels/device_identity.hpp"
#include "heddle/kernels/kernel_version.hpp"
#include "heddle/profiles/provenance.hpp"

namespace heddle {

/// What one of a part costs.
struct TermWeight {
  std::string term;           ///< one of KernelFamily::cost_terms()
  double microseconds = 0.0;  ///< at least 0
  bool operator==(const TermWeight&) const = default;
};

/// There is one for a device and a family at most.
struct FittedModel {
  DeviceIdentity device;
  std::string family;
  KernelVersion kernels;            ///< that were measured
  std::vector<TermWeight> weights;  ///< one for each term that is known, by name
  /// Root mean square of log(estimate / time) at problems that were left out of the fit.
  double left_out_error = 0.0;
  std::int64_t measurements = 0;  ///< that it was fitted to
  std::int64_t problems = 0;      ///< at which they were made
  std::string remark;             ///< for people, in one line: where the weights come from; mostly empty
  bool imported = false;          ///< came from a file
  Provenance provenance;          ///< of the last measurement
  bool operator==(const FittedModel&) const = default;
};

}  // namespace heddle
