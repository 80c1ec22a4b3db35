// A program's own kernel, measured in the worker and checked here, on a device whose label is in HEDDLE_TEST_DEVICE (by
// default the CPU).
#include "heddle/tuner/tune_kernel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/runtime/kernel/tuned_kernel.hpp"
#include "own_kernel.hpp"
#include "placed.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

std::string own_device() {
  const char* const label = std::getenv("HEDDLE_TEST_DEVICE");
  return label == nullptr ? "cpu" : label;
}

Problem size(std::int64_t n) { return Problem({{.name = "n", .value = n}}); }

/// A database of its own, and the worker of the tests.
struct OwnKernelTask {
  TemporaryFolder folder;
  TuneKernelOptions options{.device = own_device(),
                            .profiles = folder.path() / "p.sqlite",
                            .tuner = {.strategy = "exhaustive"},
                            .worker = {test::worker_program()}};
};

HostImage ramp(const Problem& problem) {
  std::vector<float> x(static_cast<std::size_t>(problem.at("n"))), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i);
    y[i] = 100.0F;
  }
  return {{"x", image_of(x)}, {"y", image_of(y)}};
}

Accuracy sums_are_right(const KernelRun& run) {
  const auto x = values_of<float>(run.before.at("x")), y = values_of<float>(run.before.at("y"));
  const auto z = values_of<float>(run.after.at("z"));
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (z[i] != 2.5F * x[i] + y[i]) return {.accepted = false, .worst_error = 1.0, .message = "not a x + y"};
  }
  return {.accepted = z.size() == x.size(), .worst_error = 0.0, .message = {}};
}

/// With a parameter `fault`: none; lazy, which leaves the last element out; crash.
KernelDefinition faulty_kernel() {
  KernelDefinition kernel = test::add_kernel();
  kernel.name = "own-faulty";
  kernel.parameters = {{.name = "fault", .values = {std::string("none"), std::string("lazy"), std::string("crash")}}};
  kernel.constraints = {};
  kernel.code["cuda"] = {.text = R"(
template <int Fault>
__global__ void add(float a, const float* x, const float* y, float* z, int n) {
  // Reads of memory, because the compiler for GPUs leaves out a loop over a volatile variable alone.
  volatile float slow = 0.0f;
  for (int i = 0; i < (Fault == 0 ? 3000 : 0); ++i) slow = slow + *static_cast<const volatile float*>(x);
  const int i = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
  if (Fault == 2) *static_cast<volatile float*>(nullptr) = a;
  if (i < (Fault == 1 ? n - 1 : n)) z[i] = a * x[i] + y[i];
}
)",
                         .kernel = "add<{0 if fault == 'none' else 1 if fault == 'lazy' else 2}>",
                         .untuned = "fault=none",
                         .grid = {"ceil_div(n, 32)"},
                         .block = {"32"}};
  kernel.code["cpu"] = {.text = R"(
#include "heddle/kernels/common/cpu_launch.hpp"
template <int Fault>
void add(const heddle::cpu::LaunchContext&, void* const* at) {
  volatile float slow = 0.0f;
  for (int i = 0; i < (Fault == 0 ? 20000 : 0); ++i) slow = slow + 1.0f;
  const int n = *static_cast<const int*>(at[4]) - (Fault == 1 ? 1 : 0);
  volatile float* volatile nothing = nullptr;
  if (Fault == 2) *nothing = slow;
  for (int i = 0; i < n; ++i) {
    static_cast<float*>(at[3])[i] =
        *static_cast<const float*>(at[0]) * static_cast<const float*>(at[1])[i] + static_cast<const float*>(at[2])[i];
  }
}
)",
                        .kernel = "add<{0 if fault == 'none' else 1 if fault == 'lazy' else 2}>",
                        .untuned = "fault=none"};
  return kernel;
}

std::map<std::string, Measurement> measurements(const OwnKernelTask& task, const KernelDefinition& kernel) {
  FamilyRegistry families = builtin_families();
  families.add(describe(kernel));
  const ProfileStore store(task.options.profiles, ProfileStore::Access::read, families);
  std::map<std::string, Measurement> found;
  for (const Measurement& measurement : store.measurements()) found.try_emplace(measurement.configuration, measurement);
  return found;
}

}  // namespace

TEST_CASE("tune(): a kernel of the program's own is tuned, stored and called, and its check sees awkward sizes") {
  const OwnKernelTask task;
  const KernelDefinition kernel = test::add_kernel();
  std::set<std::string> examples, checked;
  const auto example = [&](const Problem& problem) {
    examples.insert(problem.text());
    return ramp(problem);
  };
  const auto check = [&](const KernelRun& run) {
    checked.insert(run.problem.text());
    return sums_are_right(run);
  };
  const auto results =
      tune(kernel, {size(64), size(600)}, example, check, {.seconds = {}, .evaluations = 6}, task.options);
  REQUIRE(results.size() == 2);
  for (const TuningResult& result : results) {
    REQUIRE(result.profile);
    CHECK(result.profile->key.family == family_name(kernel));
    CHECK(result.untuned.time);
  }
  CHECK(checked == std::set<std::string>{"n=64", "n=600", "n=97"});
  CHECK(examples == checked);

  const auto device = open_device(task.options.device);
  if (!can_be_timed(device->identity().backend)) return;  // and so has no profiles
  FamilyRegistry families = builtin_families();
  const KernelFamily& family = families.add(describe(kernel));
  const ProfileStore store(task.options.profiles, ProfileStore::Access::read, families);
  const TunedKernel<float, const float*, const float*, float*, int> add(*device, family, store.profiles(),
                                                                        {.wait = true});
  const auto memory = device->allocate(600 * 4);
  const std::vector<float> ones(600, 1.0F);
  memory->write(std::as_bytes(std::span(ones)));
  auto* const z = static_cast<float*>(memory->pointer());
  for (const int n : {64, 600, 300}) {
    add({n}, 2.0F, z, z, z, n);
    CHECK(add.explain({n}).running->tier == (n == 300 ? Tier::nearest : Tier::exact));
  }
  for (const TuningResult& result : results) {
    CHECK(add.explain(result.problem).running->configuration.text() == result.profile->configuration);
  }
  std::vector<float> found(600);
  memory->read(std::as_writable_bytes(std::span(found)));
  CHECK(found.front() == 27.0F);
  CHECK(found[299] == 9.0F);
  CHECK(found.back() == 3.0F);
}

TEST_CASE("tune(): what the program's check refuses does not win, and a crash is the worker's") {
  const OwnKernelTask task;
  const KernelDefinition kernel = faulty_kernel();
  const auto results = tune(kernel, {size(64)}, ramp, sums_are_right, {}, task.options);
  REQUIRE(results.size() == 1);
  REQUIRE(results[0].profile);
  CHECK(results[0].profile->configuration == "fault=none");
  CHECK(results[0].statuses.at(Status::wrong_result) == 1);
  CHECK(results[0].statuses.at(Status::illegal_access) == 1);
  if (!can_be_timed(results[0].profile->key.device.backend)) return;
  const auto found = measurements(task, kernel);
  CHECK(found.at("fault=lazy").status == Status::wrong_result);
  CHECK(found.at("fault=lazy").message.find("n=64: not a x + y") != std::string::npos);
}

TEST_CASE("tune(): without a check, the outputs are compared with those of the untuned configuration") {
  const OwnKernelTask task;
  const auto results = tune(faulty_kernel(), {size(64)}, {}, {}, {}, task.options);
  REQUIRE(results.size() == 1);
  REQUIRE(results[0].profile);
  CHECK(results[0].profile->configuration == "fault=none");
  CHECK(results[0].statuses.at(Status::wrong_result) == 1);
  if (!can_be_timed(results[0].profile->key.device.backend)) return;
  CHECK(measurements(task, faulty_kernel()).at("fault=lazy").message.find("were never written, and the default") !=
        std::string::npos);
}

TEST_CASE("tune(): the check alone decides, also about the untuned configuration") {
  const OwnKernelTask task;
  const auto only_lazy = [](const KernelRun& run) {
    return Accuracy{.accepted = run.configuration.word("fault") == "lazy", .worst_error = 0.0, .message = "too slow"};
  };
  const auto results = tune(faulty_kernel(), {size(64)}, ramp, only_lazy, {}, task.options);
  REQUIRE(results.size() == 1);
  REQUIRE(results[0].profile);
  CHECK(results[0].profile->configuration == "fault=lazy");
}

TEST_CASE("tune(): an example or a problem that does not fit, a check that throws, and a program without a worker") {
  const OwnKernelTask task;
  const KernelDefinition kernel = test::add_kernel();
  const auto short_example = [](const Problem&) { return HostImage{{"x", std::vector<std::byte>(4)}}; };
  CHECK_THROWS_WITH_AS(tune(kernel, {size(64)}, short_example, {}, {}, task.options),
                       "the example for n=64 has 4 bytes of 'x', expected 256", Error);
  CHECK_THROWS_WITH_AS(tune(kernel, {Problem({{.name = "m", .value = 64}})}, {}, {}, {}, task.options),
                       doctest::Contains("problem 'm=64': "), Error);
  const auto angry = [](const KernelRun&) -> Accuracy { throw std::runtime_error("no"); };
  CHECK_THROWS_WITH_AS(tune(kernel, {size(64)}, ramp, angry, {}, task.options), "no", std::runtime_error);
  TuneKernelOptions itself = task.options;
  itself.worker = TuneKernelOptions().worker;
  CHECK_THROWS_WITH_AS(tune(kernel, {size(64)}, {}, {}, {}, itself), doctest::Contains("begin with run_worker()"),
                       Error);
}

}  // namespace heddle
