#include "heddle/kernels/tsk/train.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "heddle/kernels/tsk/mapping.hpp"
#include "heddle/kernels/tsk/verification.hpp"

namespace heddle::tsk {

namespace {

/// Of one run: so many that submitting it does not count, few enough to stop soon.
constexpr std::int64_t kFewestIterations = 8;
constexpr std::int64_t kMostIterations = 64;
/// Iterations that are long do not make a run longer than about a second: it is known to be over only when it has
/// ended. A core, or a multiprocessor of a modest GPU, does about so many float64 operations in that time.
constexpr double kOperationsOfRun = 5e9;

const Mapping& mapping(std::string_view backend) { return backend == "cpu" ? cpu_mapping() : cuda_mapping(); }

template <class T>
std::vector<std::byte> bytes_of(std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

class TrainFamily final : public KernelFamily {
 public:
  explicit TrainFamily(int order) : order_(order) {}

  std::string_view name() const override { return order_ == 0 ? "tsk-constant" : "tsk-linear"; }
  std::string_view meaning() const override {
    return order_ == 0 ? "batch least squares and gradient of a Takagi-Sugeno-Kang system with constant consequents"
                       : "batch least squares and gradient of a Takagi-Sugeno-Kang system with linear consequents";
  }
  const std::vector<Axis>& axes() const override { return problem_axes(); }
  std::vector<Problem> default_problems(const DeviceIdentity& device) const override {
    std::vector<Problem> grid;
    const std::vector<std::int64_t> rules =
        order_ == 0 ? std::vector<std::int64_t>{16, 35, 128} : std::vector<std::int64_t>{4, 16};
    for (const std::int64_t k : rules) {
      for (const std::int64_t d : {2, 8}) {
        for (const std::int64_t n : {1024, 65536, 1048576}) {
          if (device.backend == "cuda" || n <= 65536) grid.push_back(problem(k, d, 1, n));
        }
      }
    }
    return grid;
  }
  Problem awkward_problem() const override { return problem(13, 5, 3, 211); }

  bool supports(std::string_view backend) const override { return backend == "cpu" || runs_cuda_templates(backend); }
  const TemplateSource& source(std::string_view backend) const override { return mapping(backend).source(); }
  SearchSpace space(const DeviceIdentity& device) const override {
    return mapping(device.backend).space(device, order_);
  }
  Configuration default_configuration(const DeviceIdentity& device, const Problem& sizes) const override {
    return mapping(device.backend).default_configuration(device, sizes, order_);
  }
  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity& device) const override {
    return mapping(device.backend).named_configurations(device, order_);
  }
  std::span<const std::string_view> cost_terms(std::string_view backend) const override {
    return mapping(backend).cost_terms();
  }
  TermCounts term_counts(const Configuration& configuration, const DeviceIdentity& device) const override {
    return mapping(device.backend).term_counts(configuration, order_);
  }
  Kernels kernels(const Configuration& configuration, const Problem& sizes,
                  const DeviceIdentity& device) const override {
    return mapping(device.backend).kernels(configuration, sizes, device, order_);
  }
  Plan plan(const Configuration& configuration, const Problem& sizes, const DeviceIdentity& device,
            std::int64_t samples) const override {
    return plan_of(configuration, sizes, device, order_, iterations_of_run(sizes, device, order_, samples));
  }

  Trial trial(const Configuration& configuration, const Problem& sizes, const DeviceIdentity& device,
              std::int64_t samples, std::uint64_t seed) const override {
    const auto work = shared_timing_workload(sizes, order_, seed);
    Plan made = plan(configuration, sizes, device, samples);
    HostImage initial = contents_of(*work, made);
    return {.plan = std::move(made), .initial = std::move(initial)};
  }

  std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                             RunOnDevice) const override {
    return tsk::verification(*this, order_, device, seed);
  }

  std::int64_t host_threads(const Configuration& configuration, const DeviceIdentity& device) const override {
    return device.backend == "cpu" ? configuration.number("threads") : 0;
  }
  /// A row and its targets are read twice; activations: 4 operations an input of a rule and an exponential of 8; the
  /// lower triangle of the normal equations; outputs and gradient.
  Work work(const Problem& sizes) const override {
    const auto rules = static_cast<double>(sizes.at("rules"));
    const auto dim = static_cast<double>(sizes.at("dim"));
    const auto outputs = static_cast<double>(sizes.at("outputs"));
    const auto unknowns = static_cast<double>(tsk::unknowns(sizes, order_));
    return {.bytes = 8.0 * (dim + outputs),
            .operations = 4.0 * rules * dim + 8.0 * rules + unknowns * (unknowns + 1.0) + 2.0 * unknowns * outputs +
                          2.0 * unknowns * outputs + 3.0 * rules * outputs + 5.0 * rules * dim};
  }

 private:
  int order_;
};

}  // namespace

Plan plan_of(const Configuration& configuration, const Problem& sizes, const DeviceIdentity& device, int order,
             std::int64_t iterations) {
  Plan plan = mapping(device.backend).plan(configuration, sizes, device, order, iterations);
  plan.samples = iterations * sizes.at("rows");
  return plan;
}

HostImage contents_of(const Workload& work, const Plan& plan) {
  HostImage image;
  const System& system = work.system;
  image["centres"] = image["best_centres"] = bytes_of<float>(system.centres);
  image["widths"] = image["best_widths"] = bytes_of<float>(system.widths);
  image["consequents"] = image["best_consequents"] = bytes_of<float>(system.consequents);
  image["low_parts"] = bytes_of<float>(std::vector<float>(system.centres.size() + system.widths.size()));
  image["progress"] = bytes_of<Progress>({&work.progress, 1});
  image["control"] = bytes_of<Control>({&work.control, 1});
  image["rows"] = bytes_of<float>(work.rows);
  image["targets"] = bytes_of<float>(work.targets);
  // There may be fewer rows than the plan has room for; errors are written before they are read.
  for (const char* name : {"rows", "targets", "errors"}) {
    image[name].resize(static_cast<std::size_t>(plan.buffers[static_cast<std::size_t>(plan.buffer(name))].bytes));
  }
  return image;
}

std::int64_t iterations_of_run(const Problem& problem, const DeviceIdentity& device, int order, std::int64_t samples) {
  const auto rows = static_cast<double>(problem.at("rows"));
  const auto unknowns = static_cast<double>(tsk::unknowns(problem, order));
  const double solution = unknowns * unknowns * unknowns / 3.0;
  const double of_one = rows * train_family(order).work(problem).operations + solution;
  const double allowed = kOperationsOfRun * static_cast<double>(std::max<std::int64_t>(device.units, 1)) / of_one;
  const auto most = static_cast<std::int64_t>(std::clamp(allowed, 1.0, static_cast<double>(kMostIterations)));
  return std::clamp(samples / problem.at("rows"), std::min(kFewestIterations, most), most);
}

std::vector<Buffer> common_buffers(const Problem& problem, int order, std::int64_t iterations) {
  const std::int64_t tasks = problem.at("rules") * problem.at("dim"), rows = problem.at("rows");
  const std::int64_t consequents = unknowns(problem, order) * problem.at("outputs");
  return {{"centres", 4 * tasks, Role::parameter},
          {"widths", 4 * tasks, Role::parameter},
          {"consequents", 4 * consequents, Role::parameter},
          {"best_centres", 4 * tasks, Role::state},
          {"best_widths", 4 * tasks, Role::state},
          {"best_consequents", 4 * consequents, Role::state},
          {"low_parts", 8 * tasks, Role::state},
          {"progress", sizeof(Progress), Role::state},
          {"errors", 16 * iterations, Role::state},
          {"control", sizeof(Control), Role::input},
          {"rows", 4 * rows * problem.at("dim"), Role::input},
          {"targets", 4 * rows * problem.at("outputs"), Role::input}};
}

Constraint unknowns_constraint(int order) {
  return {.name = "at most 8192 unknowns: rules, or with linear consequents rules x (dim + 1)",
          .last = {},
          .holds = [order](const Configuration&, const Problem& problem, const DeviceIdentity&) {
            return unknowns(problem, order) <= kMostUnknowns;
          }};
}

const KernelFamily& constant_family() {
  static const TrainFamily family(0);
  return family;
}

const KernelFamily& linear_family() {
  static const TrainFamily family(1);
  return family;
}

const KernelFamily& train_family(int order) { return order == 0 ? constant_family() : linear_family(); }

}  // namespace heddle::tsk
