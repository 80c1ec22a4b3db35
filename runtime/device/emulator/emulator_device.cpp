#include "heddle/runtime/device/emulator/emulator_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "heddle/kernels/usable_cores.hpp"
#include "heddle/runtime/device/compile_cache.hpp"
#include "heddle/runtime/device/cpu/system_compiler.hpp"
#include "heddle/runtime/device/emulator/capability.hpp"
#include "heddle/runtime/device/emulator/emulator_execution.hpp"
#include "heddle/runtime/device/emulator/kernel_sources.hpp"
#include "heddle/runtime/device/program_batch.hpp"
#include "heddle/runtime/device/provenance.hpp"

namespace heddle {
namespace {

constexpr std::size_t kProgramSize = 8;
constexpr int kDefaultCapability = 90;
constexpr const char* kRemark = "runs CUDA templates on the CPU to find their faults: its times mean nothing";

std::shared_ptr<SystemCompiler> compiler_for(int capability) {
  const auto program = SystemCompiler::find();
  if (!program) throw Error(ErrorKind::device, "emulator: c++, g++ or clang++ not found, and CXX names no program");
  Dialect dialect;
  dialect.options = {"-O1",
                     "-g1",
                     "-fsanitize=thread,undefined",
                     "-shared",
                     "-fPIC",
                     "-w",
                     "-fvisibility=hidden",
                     "-nodefaultlibs",               // the emulator takes the place of the sanitizers' libraries
                     "-Wl,--no-as-needed,-lstdc++",  // which a program in another language does not offer
                     "-x",
                     "c++",
                     fmt::format("-D__CUDA_ARCH__={}", 10 * capability)};
  // For those who debug a kernel: "-O0 -g".
  if (const char* more = std::getenv("HEDDLE_EMULATOR_FLAGS")) {
    std::istringstream words(more);
    for (std::string word; words >> word;) dialect.options.push_back(word);
  }
  dialect.files = emulator_sources();
  dialect.prologue = "#include \"heddle/runtime/device/emulator/kernel/cuda.hpp\"\n";
  dialect.function =
      "extern \"C\" HEDDLE_PLAIN __attribute__((visibility(\"default\")))\n"
      "void {0}(void* const* arguments) {{ heddle::emulator::start({1}, arguments); }}\n"
      "extern \"C\" HEDDLE_PLAIN __attribute__((visibility(\"default\")))\n"
      "const char* {0}_parameters() {{ return heddle::emulator::parameters({1}); }}\n";
  return std::make_shared<SystemCompiler>(*program, std::move(dialect));
}

class EmulatorDevice final : public Device {
 public:
  EmulatorDevice(const EmulatorOptions& options, double compile_seconds)
      : capability_(emulator::capability(options.capability)),
        order_(options.order),
        identity_(emulator::identity(capability_)),
        provenance_(host_provenance()),
        compiler_(compiler_for(options.capability)),
        cache_(std::make_shared<CompileCache>(CompileCache::default_folder("emulator"))),
        compile_seconds_(compile_seconds) {}

  std::string label() const override {
    return capability_.number == kDefaultCapability ? "emulator" : fmt::format("emulator:{}", capability_.number);
  }
  const DeviceIdentity& identity() const override { return identity_; }

  const Provenance& provenance() const override {
    if (provenance_.compiler.empty()) provenance_.compiler = compiler_->version(*cache_);
    provenance_.date = utc_now();
    return provenance_;
  }

  std::string remark() const override { return kRemark; }

  std::unique_ptr<CompileBatch> compile(std::vector<CompileRequest> requests) override {
    // The batch may outlive this object: it holds all it needs.
    return start_batch(
        {.compile = [compiler = compiler_](const ProgramInput& input,
                                           const std::stop_token& stop) { return compiler->compile(input, stop); },
         .words = host_words,
         .built_in = [](const TemplateSource&, const KernelInstance&) { return false; },
         .binary =
             [](std::vector<CompiledKernel> kernels) {
               return std::make_shared<const EmulatorBinary>(std::move(kernels));
             },
         .fingerprint = [compiler = compiler_,
                         cache = cache_](const std::stop_token& stop) { return compiler->fingerprint(*cache, stop); },
         .program_size = kProgramSize,
         .threads = usable_cores(),
         .seconds = compile_seconds_},
        cache_, requests);
  }

  std::int64_t compiler_calls() const override { return compiler_->calls(); }

  std::shared_ptr<Memory> allocate(std::int64_t bytes) override {
    return std::make_shared<EmulatorMemory>(state_.machine, bytes);
  }

  std::unique_ptr<Execution> prepare(Plan plan, std::shared_ptr<const Binary> binary, Bindings bindings) override {
    return std::make_unique<EmulatorExecution>(state_.machine, state_.codes, capability_, order_, std::move(plan),
                                               binary, bindings);
  }

  std::unique_ptr<LoadedKernel> load(const Plan& plan, std::shared_ptr<const Binary> binary) override {
    require_one_kernel(plan);
    return std::make_unique<EmulatorLoadedKernel>(state_, capability_, order_, plan, std::move(binary));
  }

 private:
  const emulator::Capability& capability_;
  std::uint64_t order_;
  DeviceIdentity identity_;
  mutable Provenance provenance_;
  std::shared_ptr<SystemCompiler> compiler_;
  std::shared_ptr<CompileCache> cache_;
  double compile_seconds_;  // for a kernel
  EmulatorState state_;
};

}  // namespace

std::unique_ptr<Device> open_emulator(EmulatorOptions options, const Compiling& compiling) {
  return std::make_unique<EmulatorDevice>(options, compiling.seconds);
}

DeviceListing emulator_listing() {
  if (!SystemCompiler::find()) return {"emulator", {}, "no C++ compiler"};
  return {"emulator", emulator::identity(emulator::capability(kDefaultCapability)), kRemark};
}

}  // namespace heddle
