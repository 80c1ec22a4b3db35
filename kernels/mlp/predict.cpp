#include "heddle/kernels/mlp/predict.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/mlp/mapping.hpp"
#include "heddle/kernels/mlp/verification.hpp"
#include "heddle/kernels/mlp/workload.hpp"

namespace heddle::mlp {
namespace {

const Mapping& mapping_of_prediction(std::string_view backend) {
  const Mapping* const mapping = predict_mapping(backend);
  if (mapping == nullptr) throw Error(ErrorKind::bug, fmt::format("mlp-predict has no templates for {}", backend));
  return *mapping;
}

class PredictFamily final : public KernelFamily {
 public:
  std::string_view name() const override { return kPredictFamily; }
  std::string_view meaning() const override { return "outputs of a multilayer perceptron for many rows"; }
  const std::vector<Axis>& axes() const override { return network_axes(); }
  std::vector<Problem> default_problems(const DeviceIdentity&) const override {
    std::vector<Problem> grid;
    for (const std::int64_t inputs : {16, 256}) {
      for (const std::int64_t hidden : {16, 128}) {
        grid.push_back(network_problem(layers(inputs, std::vector{hidden}, 10)));
      }
    }
    return grid;
  }
  Problem awkward_problem() const override { return network_problem(layers(13, std::vector<std::int64_t>{17, 5}, 3)); }

  bool supports(std::string_view backend) const override { return predict_mapping(backend) != nullptr; }
  const TemplateSource& source(std::string_view backend) const override {
    return mapping_of_prediction(backend).source();
  }
  SearchSpace space(const DeviceIdentity& device) const override {
    return mapping_of_prediction(device.backend).space(device);
  }
  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    return mapping_of_prediction(device.backend).default_configuration(device, problem);
  }
  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity& device) const override {
    return mapping_of_prediction(device.backend).named_configurations(device);
  }
  Kernels kernels(const Configuration& configuration, const Problem& problem,
                  const DeviceIdentity& device) const override {
    return mapping_of_prediction(device.backend).kernels(configuration, problem, device);
  }
  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            std::int64_t samples) const override {
    return mapping_of_prediction(device.backend).plan(configuration, problem, device, {.steps = samples, .epochs = 1});
  }
  Trial trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
              std::int64_t samples, std::uint64_t seed) const override {
    const auto work = shared_timing_workload(training_problem(layers_of(problem), samples, samples), 1, seed);
    HostImage initial;
    initial["parameters"] = bytes_of(work->parameters);
    initial["control"] = bytes_of(std::vector<PredictControl>{timing_prediction(samples)});
    initial["rows"] = bytes_of(work->rows);
    return {.plan = plan(configuration, problem, device, samples), .initial = std::move(initial)};
  }
  std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                             RunOnDevice) const override {
    return predict_verification(mapping_of_prediction(device.backend), device, seed);
  }
  std::int64_t host_threads(const Configuration& configuration, const DeviceIdentity& device) const override {
    return device.backend == "cpu" ? configuration.number("threads") : 0;
  }
  /// A row is read and its outputs written; two operations a weight.
  Work work(const Problem& problem) const override {
    return {.bytes = 4.0 * static_cast<double>(problem.at("inputs") + problem.at("outputs")),
            .operations = 2.0 * static_cast<double>(layers_of(problem).parameters())};
  }
};

}  // namespace

const KernelFamily& predict_family() {
  static const PredictFamily family;
  return family;
}

PredictControl timing_prediction(std::int64_t rows) {
  return {.rows = static_cast<int>(rows), .hidden = kSigmoid, .output = kSigmoid};
}

std::vector<Buffer> prediction_buffers(const Problem& problem, std::int64_t rows) {
  constexpr std::int64_t kFloat = sizeof(float);
  return {{"parameters", kFloat * layers_of(problem).parameters(), Role::input},
          {"control", sizeof(PredictControl), Role::input},
          {"rows", kFloat * rows * problem.at("inputs"), Role::input},
          {"outputs", kFloat * rows * problem.at("outputs"), Role::output}};
}

}  // namespace heddle::mlp
