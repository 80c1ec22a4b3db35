#include <doctest/doctest.h>

#include <string>

#include "contract/device_contract.hpp"
#include "heddle/kernels/family_registry.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"
#include "heddle/tuner/verifier.hpp"
#include "runtime/device/environment_variable.hpp"
#include "runtime/device/many_cores.hpp"
#include "temporary_folder.hpp"

namespace heddle {
namespace {

TEST_CASE("the CPU device keeps the contract of devices") {
  const auto device = open_cpu_device();
  run_device_contract(*device, {.drawn = 8});
}

TEST_CASE("without a compiler, and with more threads than cores, default configurations compute what is right") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.path().string());
  const Variable compiler("CXX", "no-such-compiler");
  const auto real = open_cpu_device();
  test::ManyCores device(5);
  for (const auto& family : builtin_families().all()) {
    if (!family->supports("cpu")) continue;
    Verifier verifier(device, *family, 5);
    const SearchSpace space = family->space(device.identity());
    for (const std::int64_t rules : {1, 3, 33, 130}) {
      const Problem problem = family->awkward_problem().with("rules", rules);
      const Configuration standard = family->default_configuration(real->identity(), problem);
      for (const Configuration& configuration : space.enumerate(problem)) {
        if (!test::same_but_for_threads(configuration, standard)) continue;
        INFO(problem.text() << ": " << configuration.text());
        const Verdict verdict = verifier.verify(configuration, problem);
        CHECK_MESSAGE(verdict.status == Status::correct, verdict.message);
      }
    }
  }
  CHECK(device.compiler_calls() == 0);
}

}  // namespace
}  // namespace heddle
