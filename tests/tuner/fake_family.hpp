// A family whose kernels a fake device can run: they add one to every value, once per sample.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adding_verification.hpp"
#include "heddle/kernels/kernel_family.hpp"

namespace heddle::fake {

inline DeviceIdentity identity() {
  return {.backend = "emulator",
          .name = "fake",
          .architecture = "1.0",
          .units = 1,
          .memory_gib = 1,
          .cache_bytes = 0,
          .local_bytes = 1024};
}

inline Problem problem(std::int64_t size) { return Problem({{.name = "size", .value = size}}); }

inline std::vector<Value> one_to(std::int64_t last) {
  std::vector<Value> values;
  for (std::int64_t value = 1; value <= last; ++value) values.emplace_back(value);
  return values;
}

/// Space: kind (what the kernel does, see FakeDevice) x width 1..20 x depth 1..10, depth <= size. Kernels depend on
/// kind and width alone.
class Family : public KernelFamily {
 public:
  explicit Family(std::vector<std::string> kinds = {"good"}) : kinds_(std::move(kinds)) {}

  std::string_view name() const override { return "fake"; }
  std::string_view meaning() const override { return "adds one"; }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes{{.name = "size", .weight = 1.0, .maximum = 1 << 20}};
    return axes;
  }
  std::vector<Problem> default_problems(const DeviceIdentity&) const override { return {problem(8)}; }
  Problem awkward_problem() const override { return problem(7); }
  bool supports(std::string_view backend) const override { return backend == "emulator"; }
  const TemplateSource& source(std::string_view) const override {
    static const TemplateSource source("heddle/kernels/sonfin/control.cuh");
    return source;
  }
  SearchSpace space(const DeviceIdentity& device) const override {
    const std::vector<Value> kinds(kinds_.begin(), kinds_.end());
    std::vector<Parameter> parameters{
        {.name = "kind", .values = kinds, .meaning = "what the kernel does", .active = {}},
        {.name = "width", .values = one_to(20), .meaning = "", .active = {}},
        {.name = "depth", .values = one_to(10), .meaning = "", .active = {}}};
    Constraint shallow;
    shallow.name = "depth <= size";
    shallow.holds = [](const Configuration& c, const Problem& p, const DeviceIdentity&) {
      return c.number("depth") <= p.at("size");
    };
    std::vector<Constraint> constraints{shallow};
    return {device, std::move(parameters), std::move(constraints)};
  }
  static Configuration configuration(const std::string& kind, std::int64_t width, std::int64_t depth) {
    return Configuration({{"kind", kind}, {"width", width}, {"depth", depth}});
  }
  Configuration default_configuration(const DeviceIdentity&, const Problem&) const override {
    return configuration("good", 1, 1);
  }
  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override {
    const auto always = [](const std::optional<Configuration>& value) {
      return [value](const Problem&) { return value; };
    };
    return {{"published", "as printed", always(configuration("good", 2, 1))},
            {"deep", "too deep for small problems", always(configuration("good", 1, 10))},
            {"none", "cannot run", always(std::nullopt)}};
  }
  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity&,
            std::int64_t samples) const override {
    const std::int64_t bytes = 4 * problem.at("size");
    Plan plan;
    plan.kernels = {"fake::" + configuration.word("kind") + "<" + text(configuration.number("width")) + ">"};
    plan.buffers = {{"values", bytes, Role::parameter},
                    {"table", bytes, Role::input},
                    {"sums", bytes, Role::scratch},
                    {"result", bytes, Role::output}};
    Launch launch;
    launch.arguments = {BufferArgument{0, 0}, static_cast<std::int32_t>(samples)};
    plan.launches = {launch};
    plan.samples = samples;
    return plan;
  }
  Trial trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
              std::int64_t samples, std::uint64_t seed) const override {
    const std::vector<std::byte> bytes = test::bytes_of(test::starting_values(problem, seed));
    return {.plan = plan(configuration, problem, device, samples),
            .initial = HostImage{{"values", bytes}, {"table", bytes}}};
  }
  std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                             RunOnDevice) const override {
    return std::make_unique<test::AddingVerification>(*this, device, seed);
  }
  Work work(const Problem& problem) const override {
    return {.bytes = static_cast<double>(problem.at("size")), .operations = 1.0};
  }

 private:
  std::vector<std::string> kinds_;
};

}  // namespace heddle::fake
