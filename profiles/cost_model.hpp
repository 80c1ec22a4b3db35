// A family's model of times with the weights of a device, and whose weights these are.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/profiles/fitted_model.hpp"

namespace heddle {

/// A model whose left-out error is larger is not used. At a factor of exp(0.15) the expected order of configurations is
/// hardly better than the distance to the nearest profile; the fits of kernels that a model suits are 2 to 5 % off.
inline constexpr double kMostLeftOutError = 0.15;

/// The time of a unit of work as a sum: how often a configuration does each of the family's terms, times what one of
/// it costs. Immutable: may be shared between threads.
class CostModel {
 public:
  /// Where the weights come from, as seen from the device that the model is used on.
  enum class Source {
    device,        ///< that device
    architecture,  ///< another one of its architecture
    shipped,       ///< heddle's own file, whatever device that was made on
  };
  /// Microseconds per unit at a problem; infinite where something counts whose weight is not known.
  using Estimate = std::function<double(const Problem&)>;

  /// `fitted` may lack weights: what was never measured is not known. The family must outlive the model. Throws
  /// Error(bug) if it has weights of other terms, or if a configuration could have more terms than are provided for.
  CostModel(const KernelFamily& family, DeviceIdentity device, FittedModel fitted, Source source);

  /// For comparisons at sizes that were not measured; the configuration need not be valid there. Empty if the family
  /// does not count this configuration.
  [[nodiscard]] Estimate estimate(const Configuration& configuration) const;
  /// The estimate at one problem, microseconds per unit; nothing where it is infinite or there is none.
  [[nodiscard]] std::optional<double> expected(const Configuration& configuration, const Problem& problem) const;

  [[nodiscard]] const FittedModel& fitted() const noexcept { return fitted_; }
  [[nodiscard]] Source source() const noexcept { return source_; }
  /// "of this device, fitted to 2310 measurements at 40 problems, 3.1 % off where they were left out".
  [[nodiscard]] std::string text() const;

 private:
  const KernelFamily& family_;
  DeviceIdentity device_;
  FittedModel fitted_;
  Source source_;
  std::vector<double> weights_;  ///< in the order of the family's terms
};

/// "device", "architecture", "shipped".
[[nodiscard]] std::string_view text(CostModel::Source source);

/// Why weights that are known are not used.
struct RejectedModel {
  FittedModel fitted;
  std::string reason;
};

/// The model for a device: with its own weights, else with those of a device of its architecture, else with the shipped
/// ones; nothing if the family has no model, or if no weights are good enough. Of several of an architecture, those
/// made with the present kernels come first, then those of the card with the closest number of units. Weights that were
/// fitted to other kernels are used as long as there are such terms.
///
/// `known`: those of any families and devices; `rejected`: receives those that would have come first, if it is given.
/// `own`: false leaves out the device's own weights. The family must outlive the model.
[[nodiscard]] std::optional<CostModel> choose_model(const KernelFamily& family, const DeviceIdentity& device,
                                                    const std::vector<FittedModel>& known,
                                                    std::vector<RejectedModel>* rejected = nullptr, bool own = true);

/// Why a model cannot be used with the terms that the family has now; nothing if it can.
[[nodiscard]] std::optional<std::string> other_terms(const KernelFamily& family, const FittedModel& fitted);

}  // namespace heddle
