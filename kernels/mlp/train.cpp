#include "heddle/kernels/mlp/train.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "heddle/kernels/arithmetic.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/kernels/mlp/mapping.hpp"
#include "heddle/kernels/mlp/verification.hpp"
#include "heddle/kernels/mlp/workload.hpp"

namespace heddle::mlp {
namespace {

/// Steps that are long do not make a run longer than about a second: it is known to be over only when it has ended. A
/// core, or a multiprocessor of a modest GPU, does about so many operations in that time.
constexpr double kOperationsOfRun = 5e9;
/// Of one run: so many steps that submitting it does not count, and so many epochs that it ends soon.
constexpr std::int64_t kFewestSteps = 4, kMostEpochs = 1024;
/// More steps would make plans long whose steps are launches of their own.
constexpr std::int64_t kMostSteps = 1024;
/// Places in the orders of all epochs of one run.
constexpr std::int64_t kMostPlaces = std::int64_t{1} << 24U;

const Mapping& mapping_of(std::string_view backend) {
  const Mapping* const mapping = train_mapping(backend);
  if (mapping == nullptr) throw Error(ErrorKind::bug, fmt::format("mlp-train has no templates for {}", backend));
  return *mapping;
}

double operations_of_row(const Layers& layers) { return 6.0 * static_cast<double>(layers.parameters()); }

class TrainFamily final : public KernelFamily {
 public:
  std::string_view name() const override { return kTrainFamily; }
  std::string_view meaning() const override {
    return "steps of learning of a multilayer perceptron, all rows at once or in mini-batches";
  }
  const std::vector<Axis>& axes() const override { return training_axes(); }
  std::vector<Problem> default_problems(const DeviceIdentity&) const override {
    std::vector<Problem> grid;
    for (const auto& [inputs, bits] :
         {std::pair(16, kFloatBits), std::pair(256, kFloatBits), std::pair(256, kByteBits)}) {
      for (const std::int64_t hidden : {16, 128}) {
        for (const std::int64_t batch : {64, 16384}) {
          grid.push_back(training_problem(layers(inputs, std::vector{hidden}, 10), 16384, batch, bits));
        }
      }
    }
    return grid;
  }
  Problem awkward_problem() const override {
    return training_problem(layers(13, std::vector<std::int64_t>{17, 5}, 3), 211, 70, kByteBits);
  }

  /// Many steps: a run that keeps rows and weights on chip first brings them there.
  WorkRange timed_work(const Problem& problem, const DeviceIdentity&) const override {
    constexpr std::int64_t kTimedSteps = 256, kMostSamples = std::int64_t{1} << 22;
    WorkRange range;
    while (range.most < kMostSamples && range.most < kTimedSteps * problem.at("batch")) range.most *= 2;
    return range;
  }

  bool supports(std::string_view backend) const override { return train_mapping(backend) != nullptr; }
  const TemplateSource& source(std::string_view backend) const override { return mapping_of(backend).source(); }
  SearchSpace space(const DeviceIdentity& device) const override { return mapping_of(device.backend).space(device); }
  Configuration default_configuration(const DeviceIdentity& device, const Problem& problem) const override {
    return mapping_of(device.backend).default_configuration(device, problem);
  }
  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity& device) const override {
    return mapping_of(device.backend).named_configurations(device);
  }
  std::vector<Configuration> likely_configurations(const DeviceIdentity& device,
                                                   const Problem& problem) const override {
    return mapping_of(device.backend).likely_configurations(device, problem);
  }
  Kernels kernels(const Configuration& configuration, const Problem& problem,
                  const DeviceIdentity& device) const override {
    return mapping_of(device.backend).kernels(configuration, problem, device);
  }
  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            std::int64_t samples) const override {
    return mapping_of(device.backend).plan(configuration, problem, device, run_length(problem, device, samples));
  }
  Trial trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
              std::int64_t samples, std::uint64_t seed) const override {
    const auto work = shared_timing_workload(problem, run_length(problem, device, samples).epochs, seed);
    Plan made = plan(configuration, problem, device, samples);
    HostImage initial = contents_of(*work, made);
    // There may be fewer orders of rows than the plan has room for.
    for (const char* name : {"rows", "targets", "order"}) {
      initial[name].resize(static_cast<std::size_t>(made.buffers[static_cast<std::size_t>(made.buffer(name))].bytes));
    }
    return {.plan = std::move(made), .initial = std::move(initial)};
  }
  std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                             RunOnDevice) const override {
    return train_verification(mapping_of(device.backend), device, seed);
  }
  std::int64_t host_threads(const Configuration& configuration, const DeviceIdentity& device) const override {
    return device.backend == "cpu" ? configuration.number("threads") : 0;
  }
  /// A row and its targets are read; forward pass, deltas and gradient take two operations a weight each.
  Work work(const Problem& problem) const override {
    return {.bytes = 4.0 * static_cast<double>(problem.at("inputs") + problem.at("outputs")),
            .operations = operations_of_row(layers_of(problem))};
  }
};

}  // namespace

const KernelFamily& train_family() {
  static const TrainFamily family;
  return family;
}

RunLength run_length(const Problem& problem, const DeviceIdentity& device, std::int64_t samples) {
  const std::int64_t rows = problem.at("rows"), batch = std::min(rows, problem.at("batch"));
  const std::int64_t of_epoch = (rows + batch - 1) / batch;
  const double of_step = operations_of_row(layers_of(problem)) * static_cast<double>(batch);
  const double allowed = kOperationsOfRun * static_cast<double>(std::max<std::int64_t>(device.units, 1)) / of_step;
  const auto most = static_cast<std::int64_t>(std::clamp(allowed, 1.0, 1e9));
  const std::int64_t steps = std::clamp(samples / batch, std::min(kFewestSteps, most), std::min(kMostSteps, most));
  if (steps < of_epoch) return {.steps = steps, .epochs = 1};
  const std::int64_t places = std::max<std::int64_t>(1, kMostPlaces / rows);
  const std::int64_t epochs = std::min({steps / of_epoch, kMostEpochs, places});
  return {.steps = epochs * of_epoch, .epochs = epochs};
}

std::vector<Buffer> training_buffers(const Problem& problem, const RunLength& length) {
  const std::int64_t parameters = layers_of(problem).parameters(), rows = problem.at("rows");
  constexpr std::int64_t kFloat = sizeof(float), kDouble = sizeof(double);
  return {{"parameters", kFloat * parameters, Role::parameter},
          {"state", kFloat * kStateArrays * parameters, Role::state},
          {"gradient", kFloat * parameters, Role::state},
          {"progress", sizeof(Progress), Role::state},
          {"errors", kDouble * length.epochs, Role::state},
          {"control", sizeof(Control), Role::input},
          {"rows", kFloat * rows * problem.at("inputs"), Role::input},
          {"targets", kFloat * rows * problem.at("outputs"), Role::input},
          {"order", kFloat * rows * length.epochs, Role::input}};
}

Constraint parameters_constraint() {
  return {.name = "at most 2^28 weights and biases",
          .last = {},
          .holds = [](const Configuration&, const Problem& problem, const DeviceIdentity&) {
            return layers_of(problem).parameters() <= kMostParameters;
          }};
}

const Mapping* train_mapping(std::string_view backend) {
  if (backend == "cpu") return &cpu_train_mapping();
  return runs_cuda_templates(backend) ? &cuda_train_mapping() : nullptr;
}
const Mapping* predict_mapping(std::string_view backend) {
  if (backend == "cpu") return &cpu_predict_mapping();
  return runs_cuda_templates(backend) ? &cuda_predict_mapping() : nullptr;
}

}  // namespace heddle::mlp
