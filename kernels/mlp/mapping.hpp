// How one backend lays one family of perceptrons over its threads. train.cpp and predict.cpp add what all backends
// share: problems, workloads, the comparison with the reference.
#pragma once

#include "heddle/kernels/kernel_family.hpp"
#include "heddle/kernels/mlp/train.hpp"

namespace heddle::mlp {

/// Stateless and immutable. Functions have the meaning of their namesakes in KernelFamily.
class Mapping {
 public:
  virtual ~Mapping() = default;
  [[nodiscard]] virtual const TemplateSource& source() const = 0;
  [[nodiscard]] virtual SearchSpace space(const DeviceIdentity& device) const = 0;
  [[nodiscard]] virtual Configuration default_configuration(const DeviceIdentity& device,
                                                            const Problem& problem) const = 0;
  [[nodiscard]] virtual std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const { return {}; }
  [[nodiscard]] virtual std::vector<Configuration> likely_configurations(const DeviceIdentity&, const Problem&) const {
    return {};
  }
  [[nodiscard]] virtual Kernels kernels(const Configuration& configuration, const Problem& problem,
                                        const DeviceIdentity& device) const = 0;
  /// `length`: of one run; of a prediction, RunLength::steps is the number of rows.
  [[nodiscard]] virtual Plan plan(const Configuration& configuration, const Problem& problem,
                                  const DeviceIdentity& device, const RunLength& length) const = 0;
};

[[nodiscard]] const Mapping& cpu_train_mapping();
[[nodiscard]] const Mapping& cpu_predict_mapping();
[[nodiscard]] const Mapping& cuda_train_mapping();
[[nodiscard]] const Mapping& cuda_predict_mapping();

/// The mappings of a backend: the one place that knows for which backends there are templates. Null where there are
/// none.
[[nodiscard]] const Mapping* train_mapping(std::string_view backend);
[[nodiscard]] const Mapping* predict_mapping(std::string_view backend);

/// The buffers that every plan has, as train.hpp and predict.hpp say.
[[nodiscard]] std::vector<Buffer> training_buffers(const Problem& problem, const RunLength& length);
[[nodiscard]] std::vector<Buffer> prediction_buffers(const Problem& problem, std::int64_t rows);
/// At most kMostParameters.
[[nodiscard]] Constraint parameters_constraint();

}  // namespace heddle::mlp
