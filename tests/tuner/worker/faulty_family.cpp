#include "tuner/worker/faulty_family.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "heddle/kernels/error.hpp"
#include "placed.hpp"
#include "tuner/adding_verification.hpp"

namespace heddle::test {
namespace {

std::string contents(const std::string& name) {
  std::ifstream stream(placed("HEDDLE_TEST_FAULTS", HEDDLE_FAULTS) + "/" + name, std::ios::binary);
  if (!stream) throw std::runtime_error("no " + name);
  return {std::istreambuf_iterator<char>(stream), {}};
}

const SourceFile& embedded(std::string_view name) {
  for (const SourceFile& file : embedded_sources()) {
    if (file.name == name) return file;
  }
  throw std::out_of_range(std::string(name));
}

class Faulty final : public KernelFamily {
 public:
  explicit Faulty(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  std::string_view meaning() const override { return "adds one, or fails"; }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes{{.name = "size", .weight = 1.0, .maximum = 1 << 20}};
    return axes;
  }
  std::vector<Problem> default_problems(const DeviceIdentity&) const override { return {problem(64)}; }
  Problem awkward_problem() const override { return problem(37); }
  bool supports(std::string_view) const override { return true; }
  const TemplateSource& source(std::string_view backend) const override {
    static const std::string host_text = contents("faults.hpp");
    static const std::string device_text = contents("faults.cuh");
    static const TemplateSource host(
        {{"faults/faults.hpp", host_text}, embedded("heddle/kernels/common/cpu_launch.hpp")});
    static const TemplateSource device(std::vector<SourceFile>{{"faults/faults.cuh", device_text}});
    return backend == "cpu" ? host : device;
  }
  SearchSpace space(const DeviceIdentity& device) const override {
    std::vector<Parameter> parameters{
        {.name = "kind",
         .values = {"good", "null", "spin", "memory", "leave", "outside", "even"},
         .meaning = "what the kernel does",
         .active = {}},
        {.name = "work", .values = {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}}, .meaning = "", .active = {}}};
    Constraint little;
    little.name = "faults do little";
    little.holds = [](const Configuration& c, const Problem&, const DeviceIdentity&) {
      return c.word("kind") == "good" || c.number("work") == 1;
    };
    return {device, std::move(parameters), {little}};
  }
  Configuration default_configuration(const DeviceIdentity&, const Problem&) const override {
    return Configuration({{"kind", "good"}, {"work", std::int64_t{4}}});
  }
  std::vector<NamedConfiguration> named_configurations(const DeviceIdentity&) const override { return {}; }
  Plan plan(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
            std::int64_t samples) const override {
    const std::int64_t bytes = 4 * problem.at("size");
    Plan plan;
    plan.kernels = {fmt::format("heddle::faults::{}<{}>", configuration.word("kind"), configuration.number("work"))};
    plan.buffers = {{"values", bytes, Role::parameter}, {"result", bytes, Role::output}};
    Launch launch;
    if (device.backend != "cpu") launch.block.x = 32;
    launch.arguments = {BufferArgument{0, 0}, BufferArgument{1, 0}, static_cast<std::int32_t>(problem.at("size")),
                        static_cast<std::int32_t>(samples)};
    plan.launches = {launch};
    plan.samples = samples;
    return plan;
  }
  Trial trial(const Configuration& configuration, const Problem& problem, const DeviceIdentity& device,
              std::int64_t samples, std::uint64_t seed) const override {
    return {.plan = plan(configuration, problem, device, samples),
            .initial = HostImage{{"values", bytes_of(starting_values(problem, seed))}}};
  }
  std::unique_ptr<Verification> verification(const DeviceIdentity& device, std::uint64_t seed,
                                             RunOnDevice) const override {
    return std::make_unique<AddingVerification>(*this, device, seed);
  }
  Work work(const Problem& problem) const override {
    return {.bytes = 4.0 * static_cast<double>(problem.at("size")), .operations = 1.0};
  }

 private:
  static Problem problem(std::int64_t size) { return Problem({{.name = "size", .value = size}}); }

  std::string name_;
};

}  // namespace

std::shared_ptr<const KernelFamily> make_faulty_family(const std::string& text) {
  if (text.empty()) throw Error(ErrorKind::input, "a faulty family without a name");
  return std::make_shared<Faulty>(text);
}

FamilyRegistry families_with_faulty() {
  FamilyRegistry families = builtin_families();
  families.add_maker("faulty", make_faulty_family);
  families.add({.maker = "faulty", .text = "faulty"});
  return families;
}

}  // namespace heddle::test
