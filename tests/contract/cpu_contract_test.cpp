#include <doctest/doctest.h>

#include <string>

#include "contract/device_contract.hpp"
#include "heddle/runtime/device/cpu/cpu_device.hpp"
#include "heddle/tuner/verifier.hpp"
#include "runtime/device/environment_variable.hpp"
#include "runtime/device/temporary_folder.hpp"

namespace heddle {
namespace {

/// Another device with more cores than it has.
class ManyCores final : public Device {
 public:
  ManyCores(Device& real, std::int64_t cores) : real_(real), identity_(real.identity()) { identity_.units = cores; }
  std::string label() const override { return real_.label(); }
  const DeviceIdentity& identity() const override { return identity_; }
  const Provenance& provenance() const override { return real_.provenance(); }
  std::unique_ptr<CompileBatch> compile(std::vector<CompileRequest> requests) override {
    return real_.compile(std::move(requests));
  }
  std::int64_t compiler_calls() const override { return real_.compiler_calls(); }
  std::shared_ptr<Memory> allocate(std::int64_t bytes) override { return real_.allocate(bytes); }
  std::unique_ptr<Execution> prepare(Plan plan, std::shared_ptr<const Binary> binary, Bindings bindings) override {
    return real_.prepare(std::move(plan), std::move(binary), std::move(bindings));
  }

 private:
  Device& real_;
  DeviceIdentity identity_;
};

bool same_but_for_threads(const Configuration& a, const Configuration& b) {
  for (const auto& [name, value] : a.entries()) {
    if (name != "threads" && text(value) != (value.index() == 0 ? std::to_string(b.number(name)) : b.word(name))) {
      return false;
    }
  }
  return true;
}

TEST_CASE("the CPU device keeps the contract of devices") {
  const auto device = open_cpu_device();
  run_device_contract(*device, {.drawn = 8});
}

TEST_CASE("without a compiler, and with more threads than cores, default configurations compute what is right") {
  const TemporaryFolder folder;
  const Variable cache("XDG_CACHE_HOME", folder.path().string());
  const Variable compiler("CXX", "no-such-compiler");
  const auto real = open_cpu_device();
  ManyCores device(*real, 5);
  for (const KernelFamily* family : families()) {
    if (!family->supports("cpu")) continue;
    Verifier verifier(device, *family, 5);
    const SearchSpace space = family->space(device.identity());
    for (const std::int64_t rules : {1, 3, 33, 130}) {
      const Problem problem = family->awkward_problem().with("rules", rules);
      const Configuration standard = family->default_configuration(real->identity(), problem);
      for (const Configuration& configuration : space.enumerate(problem)) {
        if (!same_but_for_threads(configuration, standard)) continue;
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
