#include <algorithm>
#include <string>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/mlp/cuda/layered_plan.hpp"
#include "heddle/kernels/mlp/mapping.hpp"

namespace heddle::mlp {

namespace {

class CudaPredictMapping final : public Mapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/mlp/cuda/predict.cuh", cuda_network_options());
    return source;
  }
  SearchSpace space(const DeviceIdentity& device) const override {
    const std::vector<Value> tiles{std::int64_t{32}, std::int64_t{64}};
    return {device,
            {{.name = "tile", .values = tiles, .meaning = "rows, and neurons, of a block", .active = {}}},
            {parameters_constraint()}};
  }
  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    const Layers layers = layers_of(problem);
    const int widest = *std::max_element(layers.sizes + 1, layers.sizes + layers.count + 1);
    return space(device).parse(widest <= 32 ? "tile=32" : "tile=64");
  }
  Kernels kernels(const Configuration& configuration, const Problem& problem,
                  const DeviceIdentity& device) const override {
    return plan(configuration, problem, device, {.steps = 1, .epochs = 1}).kernels;
  }
  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity&,
            const RunLength& length) const override {
    Plan plan;
    plan.buffers = prediction_buffers(problem, length.steps);
    plan.samples = length.steps;
    add_layered_prediction(plan, layers_of(problem), length.steps, configuration.number("tile"));
    return plan;
  }
};

}  // namespace

const Mapping& cuda_predict_mapping() {
  static const CudaPredictMapping mapping;
  return mapping;
}

}  // namespace heddle::mlp
