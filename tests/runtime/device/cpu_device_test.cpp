#include "heddle/runtime/device/cpu/cpu_device.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>

#include "heddle/kernels/common/cpu_builtin.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/kernels/sonfin/control.cuh"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/kernels/sonfin/workload.hpp"
#include "heddle/runtime/device/cpu/processor.hpp"
#include "runtime/device/environment_variable.hpp"
#include "runtime/device/many_cores.hpp"
#include "skip.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

const TemplateSource& small_source() {
  static const TemplateSource source(std::vector<SourceFile>{{"test/fill.hpp", R"(
namespace heddle::cpu {
struct LaunchContext { int thread; int threads; };
}
namespace test {
template <int Value>
void fill(const heddle::cpu::LaunchContext& context, void* const* arguments) {
  static_assert(Value > 0, "fills with something");
  static_cast<int*>(arguments[0])[context.thread] = Value * *static_cast<const int*>(arguments[1]);
}
}
)"}});
  return source;
}

CompileRequest fill(int value) { return {&small_source(), {"test::fill<" + std::to_string(value) + ">"}}; }

std::vector<CompileOutcome> all_of(CompileBatch& batch, std::size_t count) {
  std::vector<CompileOutcome> outcomes(count);
  std::set<std::size_t> seen;
  while (auto done = batch.next()) {
    CHECK(seen.insert(done->first).second);
    outcomes.at(done->first) = std::move(done->second);
  }
  CHECK(seen.size() == count);
  return outcomes;
}

template <class T>
T read(Execution& execution, std::string_view buffer) {
  T value;
  execution.memory(buffer).read(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

void fill_buffers(Execution& execution, const Trial& trial) {
  for (const Buffer& buffer : trial.plan.buffers) {
    const auto found = trial.initial->find(buffer.name);
    if (found == trial.initial->end()) {
      execution.memory(buffer.name).fill(std::byte{0xff});
    } else {
      execution.memory(buffer.name).write(found->second);
    }
  }
}

HostImage parameters(Execution& execution) {
  HostImage image;
  for (const Buffer& buffer : execution.plan().buffers) {
    if (buffer.role == Role::scratch) continue;
    image[buffer.name].resize(static_cast<std::size_t>(buffer.bytes));
    execution.memory(buffer.name).read(image[buffer.name]);
  }
  return image;
}

/// The family's awkward problem with these sizes, as far as its problems have them.
Problem sized(const KernelFamily& family, const std::map<std::string, std::int64_t>& sizes) {
  Problem problem = family.awkward_problem();
  for (const auto& [name, size] : sizes) {
    if (problem.find(name)) problem = problem.with(name, size);
  }
  return problem;
}

std::unique_ptr<Execution> prepared(Device& device, const KernelFamily& family, const Plan& plan) {
  return device.prepare(plan, compile_one(device, {&family.source("cpu"), plan.kernels}).binary);
}

TEST_CASE("one bad kernel does not sink its batch, and a warm cache needs no compiler") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.path().string());
  std::vector<CompileRequest> requests;
  requests.reserve(11);
  for (int value = 0; value < 11; ++value) requests.push_back(fill(value));  // 0 does not compile
  {
    const auto device = open_cpu_device();
    if (!device->remark().empty()) {
      test::skip(device->remark());
      return;
    }
    const auto outcomes = all_of(*device->compile(requests), requests.size());
    CHECK(outcomes[0].binary == nullptr);
    CHECK(outcomes[0].log.find("fills with something") != std::string::npos);
    for (std::size_t i = 1; i < outcomes.size(); ++i) {
      CHECK_MESSAGE(outcomes[i].binary != nullptr, outcomes[i].log);
      CHECK_FALSE(outcomes[i].cached);
    }
    CHECK(device->compiler_calls() > 0);

    Plan plan;
    plan.kernels = requests[3].kernels;
    plan.buffers = {{"values", 20, Role::output}};
    plan.launches = {
        {.kernel = 0, .grid = {.x = 5}, .block = {}, .arguments = {BufferArgument{0, 0}, std::int32_t{7}}}};
    const auto execution = device->prepare(plan, outcomes[3].binary);
    (void)execution->time();  // a thread for each element, also where other programs take the cores
    CHECK(read<std::array<int, 5>>(*execution, "values") == std::array<int, 5>{21, 21, 21, 21, 21});
    CHECK_FALSE(execution->overrun().has_value());
    plan.launches[0].grid.x = 6;  // one thread too many for the buffer
    const auto overrunning = device->prepare(plan, outcomes[3].binary);
    (void)overrunning->time();
    CHECK(overrunning->overrun() == "values");
  }
  requests.erase(requests.begin());
  const auto device = open_cpu_device();
  for (const CompileOutcome& outcome : all_of(*device->compile(requests), requests.size())) {
    CHECK(outcome.binary != nullptr);
    CHECK(outcome.cached);
  }
  CHECK(device->provenance().compiler.find("++") != std::string::npos);
  CHECK(device->compiler_calls() == 0);
}

TEST_CASE("without a compiler the default configuration of every family runs, and nothing else") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.path().string());
  const Variable compiler("CXX", "no-such-compiler");
  CHECK(cpu_listing().identity.has_value());
  CHECK(cpu_listing().remark.find("CXX=no-such-compiler") != std::string::npos);
  const auto device = open_cpu_device();
  for (const auto& family : builtin_families().all()) {
    if (!family->supports("cpu")) continue;
    for (const std::int64_t rules : {1, 40, 700}) {
      const Problem problem = sized(*family, {{"rules", rules}});
      const Configuration standard = family->default_configuration(device->identity(), problem);
      CHECK_FALSE(family->space(device->identity()).violated(standard, problem).has_value());
      const Trial trial = family->trial(standard, problem, device->identity(), 16, 3);
      const auto outcome = compile_one(*device, {&family->source("cpu"), trial.plan.kernels});
      CHECK(outcome.cached);
      const auto execution = device->prepare(trial.plan, outcome.binary);
      fill_buffers(*execution, trial);
      execution->launch();
      execution->synchronize();
    }
  }
  CHECK_THROWS_AS(static_cast<void>(compile_one(*device, fill(1))), DeviceFailure);
  CHECK(device->compiler_calls() == 0);
}

TEST_CASE("default configurations are built in for every instruction set") {
  for (const char* architecture : {"x86-64-v4", "x86-64-v3", "x86-64-v2"}) {
    if (!cpu::best_architecture().starts_with("x86-64")) continue;
    DeviceIdentity identity = processor_identity();
    identity.architecture = architecture;
    for (const auto& family : builtin_families().all()) {
      if (!family->supports("cpu")) continue;
      for (identity.units = 1; identity.units < 9; ++identity.units) {
        for (const std::int64_t dim : {1, 16, 617}) {
          const Problem problem = sized(*family, {{"rules", 500}, {"dim", dim}});
          const Configuration standard = family->default_configuration(identity, problem);
          for (const KernelInstance& kernel : family->kernels(standard, problem, identity)) {
            CHECK((cpu::builtin_kernel(kernel.name, architecture) != nullptr));
          }
        }
      }
    }
  }
}

TEST_CASE("a launch computes the same bits with fewer threads") {
  test::ManyCores device(7);
  std::mt19937 random(6);
  for (const auto& family : builtin_families().all()) {
    if (!family->supports("cpu")) continue;
    const SearchSpace space = family->space(device.identity());
    const Problem problem = sized(*family, {{"rules", 130}});
    const Configuration standard = family->default_configuration(device.identity(), problem);
    for (const Configuration& configuration : space.enumerate(problem)) {
      if (!test::same_but_for_threads(configuration, standard)) continue;  // built in: needs no compiler
      INFO(problem.text() << ": " << configuration.text());
      const Trial trial = family->trial(configuration, problem, device.identity(), 40, random());
      const auto execution = prepared(device, *family, trial.plan);
      const auto outcome = [&] {
        fill_buffers(*execution, trial);
        execution->launch();
        execution->launch();  // goes on where the first run ended
        CHECK_FALSE(execution->overrun().has_value());
        return parameters(*execution);
      };
      const int parts = static_cast<int>(configuration.number("threads"));
      const HostImage first = outcome();
      for (int threads = device.threads(parts); threads > 1; threads = device.threads(parts)) {
        device.lose_cores();
        CHECK(device.threads(parts) < threads);
        CHECK(outcome() == first);
      }
      device.regain_cores();
      CHECK(outcome() == first);
    }
  }
}

TEST_CASE("training halts where a rule has no room, and goes on in a larger plan as if nothing had been") {
  const auto device = open_cpu_device();
  const KernelFamily& family = sonfin::train_family();
  constexpr std::int64_t kSamples = 40, kDim = 7, kOutputs = 3;
  sonfin::Workload work = sonfin::timing_workload(sonfin::problem(24, kDim, kOutputs), kSamples, 9);
  work.network = {kDim, kOutputs, {}, {}, {}};  // grown from nothing
  work.options.max_rules = 24;

  const auto run = [&](std::int64_t rules, const sonfin::Network& network, sonfin::Progress progress) {
    const Problem problem = sonfin::problem(rules, kDim, kOutputs);
    const Configuration configuration = family.default_configuration(device->identity(), problem);
    Trial trial = family.trial(configuration, problem, device->identity(), kSamples, 9);
    const sonfin::Layout layout = sonfin::train_layout(configuration, problem, device->identity());
    HostImage initial = *trial.initial;
    sonfin::pack(network, layout, initial);
    initial["rows"] = sonfin::pack_rows(work.rows.data(), kSamples, kDim, layout.stride);
    initial["targets"] = sonfin::pack_rows(work.targets.data(), kSamples, kOutputs, layout.target_stride);
    const sonfin::Control control = sonfin::control(work.options, kSamples);
    std::memcpy(initial["control"].data(), &control, sizeof control);
    std::memcpy(initial["progress"].data(), &progress, sizeof progress);
    trial.initial = std::move(initial);
    const auto execution = prepared(*device, family, trial.plan);
    fill_buffers(*execution, trial);
    execution->launch();
    progress = read<sonfin::Progress>(*execution, "progress");
    return std::pair(sonfin::unpack(parameters(*execution), layout, progress.rules), progress);
  };

  const auto [whole, whole_progress] = run(24, work.network, {});
  CHECK(whole_progress.position == kSamples);
  REQUIRE(whole_progress.rules > 10);
  auto [network, progress] = run(10, work.network, {});
  CHECK(progress.halted == 1);
  CHECK(progress.rules == 10);
  CHECK(progress.position < kSamples);
  const int halted_at = progress.position;
  std::tie(network, progress) = run(10, network, progress);  // a halted plan leaves everything alone
  CHECK(progress.position == halted_at);
  progress.halted = 0;
  std::tie(network, progress) = run(24, network, progress);
  CHECK(progress.rules == whole_progress.rules);
  CHECK(progress.position == kSamples);
  CHECK(progress.loss == doctest::Approx(whole_progress.loss).epsilon(1e-5));
  for (std::size_t i = 0; i < whole.centres.size(); ++i) {
    CHECK(network.centres[i] == doctest::Approx(whole.centres[i]).epsilon(1e-4));
    CHECK(network.widths[i] == doctest::Approx(whole.widths[i]).epsilon(1e-4));
  }
}

}  // namespace
}  // namespace heddle
