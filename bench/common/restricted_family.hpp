// A kernel family of which only a part of the search space is open: how a published way to map the work, which is a
// space of its own, is tuned with the same tuner.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/forwarding_family.hpp"

namespace heddle::bench {

/// `whole` must outlive it.
class RestrictedFamily final : public ForwardingFamily {
 public:
  /// The values allowed, by parameter, as text; a parameter that is not named keeps all.
  using Allowed = std::map<std::string, std::vector<std::string>>;
  RestrictedFamily(const KernelFamily& whole, Allowed allowed);

  [[nodiscard]] SearchSpace space(const DeviceIdentity& device) const override;
  /// The first that is allowed. Throws Error(usage) if none is.
  [[nodiscard]] Configuration default_configuration(const DeviceIdentity& device,
                                                    const Problem& problem) const override;
  [[nodiscard]] std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override {
    return {};
  }
  [[nodiscard]] std::vector<Configuration> likely_configurations(const DeviceIdentity&, const Problem&) const override {
    return {};
  }
  /// No model of times: those who published the mapping had none, and had to try.
  [[nodiscard]] std::span<const std::string_view> cost_terms(std::string_view) const override { return {}; }
  [[nodiscard]] TermCounts term_counts(const Configuration&, const DeviceIdentity&) const override { return {}; }

 private:
  Allowed allowed_;
};

/// Architecture-aware thread mapping as published: fire, combine and update launched one by one for every sample, sums
/// by shuffles; coarsening, its count, the block and the threads of a rule are open.
[[nodiscard]] const RestrictedFamily& atm_family();

/// heddle's own kernels that are launched for every sample, captured in a graph: what is left of the space if nothing
/// may stay in a kernel from one sample to the next.
[[nodiscard]] const RestrictedFamily& captured_family();

}  // namespace heddle::bench
