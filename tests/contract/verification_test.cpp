// What is verified, and what is found by it, on devices that every machine has. On a GPU: cuda_contract_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/device_reference.hpp"
#include "contract/wrong_kernels.hpp"
#include "heddle/kernels/replaced_templates.hpp"
#include "heddle/kernels/sonfin/problems.hpp"
#include "heddle/kernels/sonfin/train.hpp"
#include "heddle/kernels/tsk/train.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"
#include "heddle/runtime/device/emulator/emulator_device.hpp"
#include "heddle/tuner/verifier.hpp"

namespace heddle {
namespace {

TEST_CASE("wrong kernels are found on the CPU, for every scheme and with one and several threads") {
  find_wrong_kernels(*open_cpu_device());
}

TEST_CASE("wrong kernels are found on the emulator, for every scheme") { find_wrong_kernels(*open_emulator()); }

TEST_CASE("the float64 kernels of the reference compute what the reference computes, on the emulator") {
  check_device_reference(*open_emulator({.order = 3}), 7, 35, 5);
}

TEST_CASE("a run halts and goes on in a larger plan, or in the same one if there is no larger one") {
  const auto device = open_emulator();
  const KernelFamily& family = sonfin::train_family();
  const Configuration configuration = family.space(device->identity())
                                          .parse(
                                              "scheme=block coarsen_count=1 block_size=64 threads_per_rule=4 "
                                              "vector=1 storage=registers");
  const auto verification = family.verification(device->identity(), 1, {});
  Verifier verifier(*device, family, 1);
  for (const std::int64_t rules : {15, 16}) {  // 16 are all that the block has room for
    CAPTURE(rules);
    const Problem problem = sonfin::problem(rules, 3, 2);
    const Verification::Runs runs = verification->runs(configuration, problem);
    CHECK(runs.plans.size() == (rules == 16 ? 1 : 2));
    REQUIRE(runs.runs.size() == 8);
    CHECK(runs.essential == 2);
    for (std::size_t run = 0; run < runs.runs.size(); ++run) {
      CAPTURE(runs.runs[run].name);
      const Verdict verdict = verifier.verify_run(configuration, problem, run, true);
      CHECK_MESSAGE(verdict.status == Status::correct, verdict.message);
    }
  }
}

TEST_CASE("the option sets of a run: the first two differ in every option, and both widths come first") {
  const DeviceIdentity device = open_cpu_device()->identity();
  const KernelFamily& family = sonfin::train_family();
  const auto verification = family.verification(device, 1, {});
  std::set<std::string> first;
  for (const std::int64_t rules : {64, 128, 256}) {
    const Problem problem = sonfin::problem(rules, 16, 10);
    const Verification::Runs runs = verification->runs(family.default_configuration(device, problem), problem);
    const auto has = [&](std::size_t run, const char* word) {
      return runs.runs[run].name.find(word) != std::string::npos;
    };
    for (const auto& [one, other] : {std::pair{"scaled step", "plain step"}, {"deep", "shallow"}}) {
      CHECK(has(0, one));
      CHECK(has(1, other));
    }
    CHECK(has(0, "squared width") != has(1, "squared width"));
    first.insert(has(0, "squared width") ? "squared" : "distance");
    std::set<std::string> names;
    for (const VerificationRun& run : runs.runs) names.insert(run.name);
    CHECK(names.size() == 8);
  }
  CHECK(first.size() == 2);
}

TEST_CASE("timed runs on the CPU end as near to float64 as rounding explains, where training is chaotic too") {
  const std::vector<std::string_view> sonfin{"sonfin-train", "sonfin-predict"};
  check_timed_runs(*open_cpu_device(), sonfin, {sonfin::problem(64, 16, 10), sonfin::problem(33, 17, 3)}, 1024);
  check_timed_runs(*open_cpu_device(), sonfin, {sonfin::problem(32, 16, 1)}, 4096);
  check_timed_runs(*open_cpu_device(), {"tsk-constant"}, {tsk::problem(35, 4, 1, 20011)}, 16384);
  check_timed_runs(*open_cpu_device(), {"tsk-linear"}, {tsk::problem(4, 4, 2, 20011)}, 16384);
}

/// Of a planted family: kernels of `wrong` have the fault, all others are sound.
Verifier::FindBinary faulty(Device& device, const KernelFamily& sound, const KernelFamily& planted,
                            const Kernels& wrong) {
  return [&device, &sound, &planted, wrong](const Kernels& kernels) {
    const KernelFamily& family = kernels == wrong ? planted : sound;
    return compile_one(device, {.source = &family.source(device.identity().backend), .kernels = kernels}).binary;
  };
}

TEST_CASE("a kernel that goes wrong during its timed run is found, be it the untuned one") {
  const auto device = open_cpu_device();
  const DeviceIdentity& identity = device->identity();
  const KernelFamily& sound = sonfin::train_family();
  const Problem problem = sonfin::problem(33, 5, 3);
  const Configuration untuned = sound.default_configuration(identity, problem);
  const std::vector<Configuration> all = sound.space(identity).enumerate(problem);
  const auto found = std::find_if(all.begin(), all.end(), [&](const Configuration& each) {
    return each.text().find("threads=1") != std::string::npos &&
           each.text().find("coarsening=dims") != std::string::npos;
  });
  REQUIRE(found != all.end());
  const Configuration& tuned = *found;
  REQUIRE(tuned != untuned);
  const auto wrong_from = [&](const std::string& sample) {
    return ReplacedTemplates(sound, "cpu",
                             {{"cpu/train.hpp", "a_.targets + row * a_.target_stride;",
                               std::string("a_.targets + (sample < ") + sample +
                                   " ? row : a_.order[now_.position - 1]) * a_.target_stride;"}});
  };
  for (const Configuration& configuration : {untuned, tuned}) {
    const std::string first = configuration == untuned ? "99" : "599";
    CAPTURE(first);
    const ReplacedTemplates planted = wrong_from(first);
    const auto kernels = sound.kernels(configuration, problem, identity);
    Verifier verifier(*device, planted, 1, faulty(*device, sound, planted, kernels));
    CHECK(verifier.verify(configuration, problem).status == Status::correct);
    const Verdict verdict = verifier.verify_timed_run(configuration, problem, 1024, untuned);
    CHECK(verdict.status == Status::wrong_result);
    CHECK_MESSAGE(verdict.message.find("times as far from float64") != std::string::npos, verdict.message);
    CHECK(Verifier(*device, sound, 1).verify_timed_run(configuration, problem, 1024, untuned).status ==
          Status::correct);
  }
}

TEST_CASE("a kernel that is wrong from row 9002 on is found") {
  const auto device = open_cpu_device();
  const DeviceIdentity& identity = device->identity();
  const KernelFamily& sound = tsk::constant_family();
  const Problem problem = tsk::problem(16, 2, 1, 65536);
  const Configuration untuned = sound.default_configuration(identity, problem);
  const ReplacedTemplates planted(
      sound, "cpu",
      {{"tsk/cpu/activate.hpp", "rows_ + (first + (b < count ? b : count - 1)) * sizes_.dim",
        "rows_ + (first + (b < count ? b : count - 1)) % 9001 * sizes_.dim"}});
  Verifier verifier(*device, planted, 1, faulty(*device, sound, planted, sound.kernels(untuned, problem, identity)));
  CHECK(verifier.verify(untuned, problem).status == Status::correct);
  CHECK(verifier.verify_timed_run(untuned, problem, 16384, untuned).status == Status::wrong_result);
  CHECK(Verifier(*device, sound, 1).verify_timed_run(untuned, problem, 16384, untuned).status == Status::correct);
}

}  // namespace
}  // namespace heddle
