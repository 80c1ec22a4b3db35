#include <algorithm>
#include <optional>

#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/mlp/cuda/online_plan.hpp"
#include "heddle/kernels/mlp/cuda/train_defaults.hpp"
#include "heddle/kernels/mlp/cuda/train_layouts.hpp"
#include "heddle/kernels/mlp/cuda/train_space.hpp"
#include "heddle/kernels/mlp/mapping.hpp"

namespace heddle::mlp {

namespace {

class CudaTrainMapping final : public Mapping {
 public:
  const TemplateSource& source() const override {
    static const TemplateSource source("heddle/kernels/mlp/cuda/train.cuh", cuda_network_options());
    return source;
  }

  SearchSpace space(const DeviceIdentity& device) const override { return train_space(device); }

  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    return train_default(device, problem);
  }

  std::vector<Configuration> likely_configurations(const DeviceIdentity& device,
                                                   const Problem& problem) const override {
    return likely_for_training(device, problem);
  }

  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity& device) const override {
    // Each where the space allows it, and where `possible` says that the published program runs.
    const auto named = [&](const char* name, const char* meaning, const char* text, auto possible) {
      return NamedConfiguration{.name = name,
                                .meaning = meaning,
                                .configuration = [all = train_space(device), text,
                                                  possible](const Problem& p) -> std::optional<Configuration> {
                                  if (!possible(p)) return std::nullopt;
                                  Configuration configuration = all.parse(text);
                                  if (all.violated(configuration, p)) return std::nullopt;
                                  return configuration;
                                }};
    };
    return {
        named("gurgel",
              "Gurgel: a block for a row, a thread for a neuron or weight; one block adds up the rows. At most 1024 "
              "weights and 65535 rows",
              "scheme=layered product=thread learners=one",
              [](const Problem& p) { return layers_of(p).parameters() <= 1024 && p.at("rows") <= 65535; }),
        named("gurgel-wide",
              "the same for any network: many threads share the weights of a row, and many blocks add up",
              "scheme=layered product=thread learners=many", [](const Problem&) { return true; }),
        named("cublas-batch", "a product of matrices by cuBLAS for each layer and pass",
              "scheme=layered product=library", [](const Problem&) { return true; }),
        named("t08",
              "the system that Gurgel compares with: products by cuBLAS, row after row, one hidden layer. Errors are "
              "found on the device, where the published program copies the outputs to the host",
              "scheme=layered product=library",
              [](const Problem& p) { return p.at("batch") == 1 && layers_of(p).count == 2; }),
        named("toman",
              "Toman: a block for a row, or for a weight, whose threads add up by a tree. At most 1024 weights "
              "between two hidden layers, or a hidden one and the outputs",
              "scheme=layered product=tree", [](const Problem& p) {
                const Layers layers = layers_of(p);
                for (int l = 1; l < layers.count; ++l) {
                  if (std::int64_t{layers.sizes[l]} * layers.sizes[l + 1] > 1024) return false;
                }
                return true;
              })};
  }

  Kernels kernels(const Configuration& configuration, const Problem& problem,
                  const DeviceIdentity& device) const override {
    return plan(configuration, problem, device, {.steps = 2, .epochs = 1}).kernels;
  }

  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            const RunLength& length) const override {
    const std::int64_t rows = problem.at("rows"), batch = std::min(rows, problem.at("batch"));
    Plan plan;
    plan.buffers = training_buffers(problem, length);
    plan.samples = std::min(length.steps * batch, length.epochs * rows);
    if (resides(configuration)) {
      add_resident(plan, resident_layout(configuration, problem), length);
    } else if (is_spread(configuration)) {
      add_spread(plan, spread_layout(configuration, problem), length);
    } else if (by_neurons(configuration)) {
      add_neurons(plan, neurons_layout(configuration, problem), length);
    } else if (in_clusters(configuration)) {
      add_cluster(plan, cluster_layout(configuration, problem), length);
    } else if (by_warps(configuration)) {
      add_warps(plan, warps_layout(configuration, problem), length);
    } else if (is_online(configuration)) {
      add_online(plan, layers_of(problem), configuration.number("block_size"), length);
    } else {
      add_layered(plan, layers_of(problem), batch, layered_shape(configuration, device), length);
    }
    return plan;
  }
};

}  // namespace

const Mapping& cuda_train_mapping() {
  static const CudaTrainMapping mapping;
  return mapping;
}

}  // namespace heddle::mlp
