// How one backend lays one SONFIN family over its threads. The families in train.cpp and predict.cpp add what all
// backends share: problems, workloads, the comparison with the reference.
#pragma once

#include <span>
#include <string_view>

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/sonfin/layout.hpp"

namespace heddle::sonfin {

/// Stateless and immutable. Functions have the meaning of their namesakes in KernelFamily.
class Mapping {
 public:
  virtual ~Mapping() = default;
  [[nodiscard]] virtual const TemplateSource& source() const = 0;
  [[nodiscard]] virtual SearchSpace space(const DeviceIdentity& device) const = 0;
  [[nodiscard]] virtual Configuration default_configuration(const DeviceIdentity& device,
                                                            const Problem& problem) const = 0;
  [[nodiscard]] virtual std::vector<Configuration> likely_configurations(const DeviceIdentity&, const Problem&) const {
    return {};
  }
  [[nodiscard]] virtual std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const { return {}; }
  [[nodiscard]] virtual Layout layout(const Configuration& configuration, const Problem& problem,
                                      const DeviceIdentity& device) const = 0;
  [[nodiscard]] virtual Kernels kernels(const Configuration& configuration, const Problem& problem) const = 0;
  [[nodiscard]] virtual Plan plan(const Configuration& configuration, const Problem& problem,
                                  const DeviceIdentity& device, std::int64_t samples) const = 0;
  [[nodiscard]] virtual std::span<const std::string_view> cost_terms() const { return {}; }
  [[nodiscard]] virtual TermCounts term_counts(const Configuration&) const { return {}; }
  /// Of a prediction: predict_tile().
  [[nodiscard]] virtual std::int64_t rows_of_tile(const Configuration&) const { return 1; }
};

[[nodiscard]] const Mapping& cuda_train_mapping();
[[nodiscard]] const Mapping& cuda_predict_mapping();
[[nodiscard]] const Mapping& cpu_train_mapping();
[[nodiscard]] const Mapping& cpu_predict_mapping();

}  // namespace heddle::sonfin
