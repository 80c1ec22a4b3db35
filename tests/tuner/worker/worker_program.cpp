// The worker process of the tests: it can make their families, and has a device whose compiler crashes.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "carving_family.hpp"
#include "heddle/kernels/error.hpp"
#include "heddle/runtime/process/child_process.hpp"
#include "heddle/tuner/worker/serve.hpp"
#include "tuner/worker/faulty_family.hpp"

namespace {

using namespace heddle;

/// The CPU, but that compiling a kernel called "even" ends the process.
class CrashingCompiler final : public Device {
 public:
  std::string label() const override { return cpu_->label(); }
  const DeviceIdentity& identity() const override { return cpu_->identity(); }
  const Provenance& provenance() const override { return cpu_->provenance(); }
  std::unique_ptr<CompileBatch> compile(std::vector<CompileRequest> requests) override {
    for (const CompileRequest& request : requests) {
      for (const KernelInstance& kernel : request.kernels) {
        if (kernel.name.find("::even<") != std::string::npos) std::abort();
      }
    }
    return cpu_->compile(std::move(requests));
  }
  std::int64_t compiler_calls() const override { return cpu_->compiler_calls(); }
  std::shared_ptr<Memory> allocate(std::int64_t bytes) override { return cpu_->allocate(bytes); }
  std::unique_ptr<Execution> prepare(Plan plan, std::shared_ptr<const Binary> binary, Bindings bindings) override {
    return cpu_->prepare(std::move(plan), std::move(binary), std::move(bindings));
  }

 private:
  std::unique_ptr<Device> cpu_ = open_device("cpu");
};

}  // namespace

int main() {
  WorkerWorld world;
  world.families.add_maker("faulty", test::make_faulty_family);
  world.families.add_maker("carving", test::make_carving_family);
  world.open = [](const std::string& label, const Compiling& compiling) -> std::unique_ptr<Device> {
    if (label == "crashing compiler") return std::make_unique<CrashingCompiler>();
    return open_device(label, compiling);
  };
  try {
    serve(ChildProcess::kDescriptor, world);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.kind());
  }
}
