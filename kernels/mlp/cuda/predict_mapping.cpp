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
    const std::vector<Value> tiles{std::int64_t{64}, std::int64_t{128}};
    return {device,
            {{.name = "tile",
              .values = tiles,
              .meaning = "rows of a block, and neurons, where there are as many",
              .active = {}}},
            {parameters_constraint(),
             {.name = "shared memory of a block with a tile",
              .last = "tile",
              .holds = [](const Configuration& c, const Problem&, const DeviceIdentity& on) {
                return layered_bytes(c.number("tile")) <= on.local_bytes;
              }}}};
  }
  Configuration default_configuration(const DeviceIdentity& device, const Problem&) const override {
    return space(device).parse(layered_bytes(128) <= device.local_bytes ? "tile=128" : "tile=64");  // for many rows
  }
  Kernels kernels(const Configuration& configuration, const Problem& problem,
                  const DeviceIdentity& device) const override {
    return plan(configuration, problem, device, {.steps = 1, .epochs = 1}).kernels;
  }
  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            const RunLength& length) const override {
    Plan plan;
    plan.buffers = prediction_buffers(problem, length.steps);
    plan.samples = length.steps;
    add_layered_prediction(
        plan, layers_of(problem), length.steps,
        {.tile = configuration.number("tile"), .units = device.units, .local_bytes = device.local_bytes});
    return plan;
  }
};

}  // namespace

const Mapping& cuda_predict_mapping() {
  static const CudaPredictMapping mapping;
  return mapping;
}

}  // namespace heddle::mlp
