// A kernel family of which only a part of the search space is open: how a published way to map the work, which is a
// space of its own, is tuned with the same tuner.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"

namespace heddle::bench {

/// `whole` must outlive it. Has the name of `whole`, so that its profiles can be used in place of others: keep them in
/// a store of their own.
class RestrictedFamily final : public KernelFamily {
 public:
  /// The values allowed, by parameter, as text; a parameter that is not named keeps all.
  using Allowed = std::map<std::string, std::vector<std::string>>;
  RestrictedFamily(const KernelFamily& whole, Allowed allowed);

  [[nodiscard]] std::string_view name() const override { return whole_.name(); }
  [[nodiscard]] std::string_view meaning() const override { return whole_.meaning(); }
  [[nodiscard]] const std::vector<Axis>& axes() const override { return whole_.axes(); }
  [[nodiscard]] std::string_view unit() const override { return whole_.unit(); }
  [[nodiscard]] WorkRange timed_work(const Problem& problem, const DeviceIdentity& device) const override {
    return whole_.timed_work(problem, device);
  }
  [[nodiscard]] std::vector<Problem> default_problems(const DeviceIdentity& device) const override {
    return whole_.default_problems(device);
  }
  [[nodiscard]] Problem awkward_problem() const override { return whole_.awkward_problem(); }
  [[nodiscard]] bool supports(std::string_view backend) const override { return whole_.supports(backend); }
  [[nodiscard]] const TemplateSource& source(std::string_view backend) const override { return whole_.source(backend); }
  [[nodiscard]] SearchSpace space(const DeviceIdentity& device) const override;
  /// The first that is allowed. Throws Error(usage) if none is.
  [[nodiscard]] Configuration default_configuration(const DeviceIdentity& device,
                                                    const Problem& problem) const override;
  [[nodiscard]] std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override {
    return {};
  }
  [[nodiscard]] Kernels kernels(const Configuration& configuration, const Problem& problem,
                                const DeviceIdentity& device) const override {
    return whole_.kernels(configuration, problem, device);
  }
  [[nodiscard]] Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                          std::int64_t samples) const override {
    return whole_.plan(configuration, problem, device, samples);
  }
  [[nodiscard]] Trial trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                            std::int64_t samples, std::uint64_t seed) const override {
    return whole_.trial(configuration, problem, device, samples, seed);
  }
  [[nodiscard]] std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                                           RunOnDevice run) const override {
    return whole_.verification(device, seed, std::move(run));
  }
  [[nodiscard]] std::int64_t host_threads(const Configuration& configuration,
                                          const DeviceIdentity& device) const override {
    return whole_.host_threads(configuration, device);
  }
  [[nodiscard]] Work work(const Problem& problem) const override { return whole_.work(problem); }

 private:
  const KernelFamily& whole_;
  Allowed allowed_;
};

/// Architecture-aware thread mapping as published: fire, combine and update launched one by one for every sample, sums
/// by shuffles; coarsening, its count, the block and the threads of a rule are open.
[[nodiscard]] const RestrictedFamily& atm_family();

/// heddle's own kernels that are launched for every sample, captured in a graph: what is left of the space if nothing
/// may stay in a kernel from one sample to the next.
[[nodiscard]] const RestrictedFamily& captured_family();

}  // namespace heddle::bench
