// A kernel family that is another one in all that a class derived from it does not change.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"

namespace heddle {

/// `whole` must outlive it. Has the name of `whole`, so that its profiles can be used in place of others: keep them in
/// a store of their own. Every function asks `whole`, not this: who changes plan() changes measured_plan(), kernels()
/// and trial(), too. defined() alone is not passed on: what describes `whole` does not describe the changes.
class ForwardingFamily : public KernelFamily {
 public:
  explicit ForwardingFamily(const KernelFamily& whole) : whole_(whole) {}

  [[nodiscard]] std::string_view name() const override { return whole_.name(); }
  [[nodiscard]] std::string_view meaning() const override { return whole_.meaning(); }
  [[nodiscard]] const std::vector<Axis>& axes() const override { return whole_.axes(); }
  [[nodiscard]] std::string_view unit() const override { return whole_.unit(); }
  [[nodiscard]] bool shares_contents() const override { return whole_.shares_contents(); }
  [[nodiscard]] std::string_view verified_against() const override { return whole_.verified_against(); }
  [[nodiscard]] bool tuned_unasked() const override { return whole_.tuned_unasked(); }
  [[nodiscard]] WorkRange timed_work(const Problem& problem, const DeviceIdentity& device) const override {
    return whole_.timed_work(problem, device);
  }
  [[nodiscard]] std::vector<Problem> default_problems(const DeviceIdentity& device) const override {
    return whole_.default_problems(device);
  }
  [[nodiscard]] Problem awkward_problem() const override { return whole_.awkward_problem(); }
  [[nodiscard]] bool supports(std::string_view backend) const override { return whole_.supports(backend); }
  [[nodiscard]] const TemplateSource& source(std::string_view backend) const override { return whole_.source(backend); }
  [[nodiscard]] SearchSpace space(const DeviceIdentity& device) const override { return whole_.space(device); }
  [[nodiscard]] Configuration default_configuration(const DeviceIdentity& device,
                                                    const Problem& problem) const override {
    return whole_.default_configuration(device, problem);
  }
  [[nodiscard]] std::vector<NamedConfiguration> named_configurations(const DeviceIdentity& device) const override {
    return whole_.named_configurations(device);
  }
  [[nodiscard]] std::vector<Configuration> likely_configurations(const DeviceIdentity& device,
                                                                 const Problem& problem) const override {
    return whole_.likely_configurations(device, problem);
  }
  [[nodiscard]] Kernels kernels(const Configuration& configuration, const Problem& problem,
                                const DeviceIdentity& device) const override {
    return whole_.kernels(configuration, problem, device);
  }
  [[nodiscard]] Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
                          std::int64_t samples) const override {
    return whole_.plan(configuration, problem, device, samples);
  }
  [[nodiscard]] bool has_workload(const Problem& problem) const override { return whole_.has_workload(problem); }
  [[nodiscard]] Plan measured_plan(const Configuration& configuration, const Problem& problem,
                                   const DeviceIdentity& device, std::int64_t samples) const override {
    return whole_.measured_plan(configuration, problem, device, samples);
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
  [[nodiscard]] std::span<const Metric> metrics() const override { return whole_.metrics(); }
  [[nodiscard]] std::span<const std::string_view> cost_terms(std::string_view backend) const override {
    return whole_.cost_terms(backend);
  }
  [[nodiscard]] TermCounts term_counts(const Configuration& configuration,
                                       const DeviceIdentity& device) const override {
    return whole_.term_counts(configuration, device);
  }

 private:
  const KernelFamily& whole_;
};

}  // namespace heddle
