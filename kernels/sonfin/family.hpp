// The common part of the families over one SONFIN problem: sizes, and that the mapping of the backend answers for the
// rest.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/sonfin/mapping.hpp"
#include "heddle/kernels/sonfin/problems.hpp"

namespace heddle::sonfin {

class Family : public KernelFamily {
 public:
  const std::vector<Axis>& axes() const final { return problem_axes(); }
  std::vector<Problem> default_problems(const DeviceIdentity& device) const final { return problem_grid(device); }
  Problem awkward_problem() const final { return problem(33, 17, 3); }

  bool supports(std::string_view backend) const final { return has_templates(backend); }
  const TemplateSource& source(std::string_view backend) const final { return mapping(backend).source(); }
  SearchSpace space(const DeviceIdentity& device) const final { return mapping(device.backend).space(device); }
  Configuration default_configuration(const DeviceIdentity& device, const Problem& sizes) const final {
    return mapping(device.backend).default_configuration(device, sizes);
  }
  std::vector<Configuration> likely_configurations(const DeviceIdentity& device, const Problem& sizes) const final {
    return mapping(device.backend).likely_configurations(device, sizes);
  }
  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity& device) const final {
    return mapping(device.backend).named_configurations(device);
  }
  Kernels kernels(const Configuration& configuration, const Problem& sizes, const DeviceIdentity& device) const final {
    return mapping(device.backend).kernels(configuration, sizes);
  }
  Plan plan(const Configuration& configuration, const Problem& sizes, const DeviceIdentity& device,
            std::int64_t samples) const final {
    return mapping(device.backend).plan(configuration, sizes, device, samples);
  }
  std::span<const std::string_view> cost_terms(std::string_view backend) const final {
    return mapping(backend).cost_terms();
  }
  TermCounts term_counts(const Configuration& configuration, const DeviceIdentity& device) const final {
    return mapping(device.backend).term_counts(configuration);
  }
  std::int64_t host_threads(const Configuration& configuration, const DeviceIdentity& device) const final {
    return device.backend == "cpu" ? configuration.number("threads") : 0;
  }

 private:
  [[nodiscard]] virtual const Mapping& mapping(std::string_view backend) const = 0;
};

}  // namespace heddle::sonfin
