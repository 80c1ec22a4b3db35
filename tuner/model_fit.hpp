// Fits the weights of a family's model of times to what was measured on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/profiles/cost_model.hpp"
#include "heddle/profiles/measurement.hpp"

namespace heddle {

/// What a fit needs of measurements: how often a configuration does which terms, and how long it took.
class FitPoints {
 public:
  /// The family must outlive it.
  FitPoints(const KernelFamily& family, DeviceIdentity device);

  /// Configurations that the family does not count or that have what is chosen last, which no term knows of, and times
  /// that are no times, are left out. If a configuration comes
  /// twice at a problem, the later time counts.
  void add(const Problem& problem, const Configuration& configuration, double microseconds);

  struct Point {
    Problem problem;
    std::size_t first = 0;       ///< term that counts[0] is of
    std::vector<double> counts;  ///< of the configuration's terms
    double time = 0.0;           ///< microseconds per unit
    double worth = 1.0;          ///< of its relative error, beside that of the fastest at its problem
  };
  /// All, in the order of their problems. What is much slower than the fastest at its problem says little about which
  /// of the fast ones is the fastest, so it is worth less. Without it a fit would not know why it is slow: what no fast
  /// configuration does would seem to cost nothing.
  [[nodiscard]] std::vector<Point> weighted() const;

  [[nodiscard]] std::size_t size() const noexcept { return points_.size(); }
  [[nodiscard]] const KernelFamily& family() const noexcept { return family_; }
  [[nodiscard]] const DeviceIdentity& device() const noexcept { return device_; }

 private:
  const KernelFamily& family_;
  DeviceIdentity device_;
  std::vector<std::string> chosen_last_;                     ///< names of parameters
  std::map<std::pair<Problem, std::string>, Point> points_;  ///< by problem and canonical text of the configuration
};

/// Weights for the terms of the family, with the error that they have at problems left out of the fit; nothing if there
/// are too few measurements or problems, or if the family counts nothing. `prior`: the model of another device, or the
/// shipped one; terms about which nothing was measured keep its weights, on the scale of this device, and have none
/// where it has none. Kernels,
/// provenance and remark are left empty. The same arguments give the same model.
[[nodiscard]] std::optional<FittedModel> fit_model(const FitPoints& points, const CostModel* prior);

/// The same of all that was measured, with kernels and the last provenance. `measurements`: of one family, one device,
/// and the same kernels, oldest first.
[[nodiscard]] std::optional<FittedModel> fit_model(const KernelFamily& family, const DeviceIdentity& device,
                                                   const std::vector<Measurement>& measurements,
                                                   const CostModel* prior);

}  // namespace heddle
