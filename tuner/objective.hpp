// What a search makes small: the time, the energy, or an expression over what was measured.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/expression/expression.hpp"
#include "heddle/kernels/kernel_family.hpp"
#include "heddle/profiles/kernel_resources.hpp"

namespace heddle {

/// What was measured of a configuration.
struct Measured {
  double time = 0.0;             ///< microseconds per unit of work
  std::optional<double> energy;  ///< joules per unit of work
  std::optional<KernelResources> resources;
};

/// The names that expressions over measurements may ask for: the sizes of the problem, the parameters of the
/// configuration, then kMeasuredNames. What was not measured has no value. All must outlive the result.
[[nodiscard]] Expression::Names measured_names(const KernelFamily& family, const Problem& problem,
                                               const Configuration& configuration, const Measured& measured);

/// The value of each metric of the family, in its order; nothing where it has none (a division by zero, or something
/// that was not measured).
[[nodiscard]] std::vector<std::pair<std::string, std::optional<double>>> metrics_of(const KernelFamily& family,
                                                                                    const Problem& problem,
                                                                                    const Configuration& configuration,
                                                                                    const Measured& measured);

/// Immutable.
class Objective {
 public:
  /// An expression over measured_names() and those metrics of the family whose names are names of expressions too.
  /// Throws Error(usage).
  explicit Objective(const std::string& text);

  [[nodiscard]] const std::string& text() const noexcept { return value_.text(); }
  /// Throws Error(usage) if it asks for a name that nothing of the family has on this device.
  void check(const KernelFamily& family, const DeviceIdentity& device) const;
  /// Whether the energy has to be measured.
  [[nodiscard]] bool needs_energy(const KernelFamily& family) const;
  /// What the search makes small; above 0, because strategies compare ratios. Throws Error(usage) where it has no such
  /// value, Error(device) if it needs the energy and that could not be measured.
  [[nodiscard]] double of(const KernelFamily& family, const Problem& problem, const Configuration& configuration,
                          const Measured& measured) const;

 private:
  Expression value_;
};

}  // namespace heddle
