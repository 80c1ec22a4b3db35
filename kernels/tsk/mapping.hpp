// How one backend lays one iteration over its threads. train.cpp adds what all backends share: problems, workloads, the
// comparison with the reference.
#pragma once

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/tsk/system.hpp"

namespace heddle::tsk {

/// Stateless and immutable. Functions have the meaning of their namesakes in KernelFamily; `order`: of the consequents.
class Mapping {
 public:
  virtual ~Mapping() = default;
  [[nodiscard]] virtual const TemplateSource& source() const = 0;
  [[nodiscard]] virtual SearchSpace space(const DeviceIdentity& device, int order) const = 0;
  [[nodiscard]] virtual Configuration default_configuration(const DeviceIdentity& device, const Problem& problem,
                                                            int order) const = 0;
  [[nodiscard]] virtual std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&, int) const {
    return {};
  }
  [[nodiscard]] virtual Kernels kernels(const Configuration& configuration, const Problem& problem,
                                        const DeviceIdentity& device, int order) const = 0;
  [[nodiscard]] virtual std::span<const std::string_view> cost_terms() const { return {}; }
  [[nodiscard]] virtual TermCounts term_counts(const Configuration&, int) const { return {}; }
  /// `iterations`: of one run.
  [[nodiscard]] virtual Plan plan(const Configuration& configuration, const Problem& problem,
                                  const DeviceIdentity& device, int order, std::int64_t iterations) const = 0;
};

/// Up to so many rows are computed in float64: of more, what rounding does averages out, and they would take longer.
inline constexpr std::int64_t kFewRows = 8192;

[[nodiscard]] const Mapping& cpu_mapping();
[[nodiscard]] const Mapping& cuda_mapping();

/// The buffers that every plan has, as train.hpp says.
[[nodiscard]] std::vector<Buffer> common_buffers(const Problem& problem, int order, std::int64_t iterations);
[[nodiscard]] Constraint unknowns_constraint(int order);

}  // namespace heddle::tsk
