#include "heddle/runtime/device/cpu/cpu_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stop_token>
#include <thread>
#include <utility>

#include "heddle/kernels/common/cpu_builtin.hpp"
#include "heddle/kernels/common/options.hpp"
#include "heddle/kernels/usable_cores.hpp"
#include "heddle/runtime/device/compile_cache.hpp"
#include "heddle/runtime/device/constant_symbol.hpp"
#include "heddle/runtime/device/cpu/cpu_execution.hpp"
#include "heddle/runtime/device/cpu/processor.hpp"
#include "heddle/runtime/device/cpu/system_compiler.hpp"
#include "heddle/runtime/device/cpu/thread_team.hpp"
#include "heddle/runtime/device/program_batch.hpp"
#include "heddle/runtime/device/provenance.hpp"

namespace heddle {
namespace {

/// Kernels in one shared object: enough to share the cost of a process, few enough for early results.
constexpr std::size_t kProgramSize = 8;

#if defined(__x86_64__)
constexpr const char* kNative = "-march=native";
#else
constexpr const char* kNative = "-mcpu=native";
#endif

/// For some processors (AMD's Zen) GCC contracts a * b + c in one loop and not in another of the same kernel, by what
/// it takes for a chain. The same sum, computed on two paths, then differs in its last bit, and rules that fire alike
/// no longer tie. With this, every such product is contracted. Clang has no such parameter and ignores it.
constexpr const char* kContractAlways = "--param=avoid-fma-max-bits=0";

Dialect dialect() {
  return {
      .options = {"-O3", kNative, kContractAlways, "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC", "-w",
                  "-fvisibility=hidden", "-x", "c++"},
      .files = {},
      .prologue = {},
      .function =
          "extern \"C\" __attribute__((visibility(\"default\")))\n"
          "void {0}(const heddle::cpu::LaunchContext& context, void* const* arguments) {{ {1}(context, arguments); "
          "}}\n",
  };
}

std::string no_compiler() {
  const char* chosen = std::getenv("CXX");
  const std::string sought = chosen != nullptr && *chosen != '\0' ? fmt::format("CXX={} is not a program", chosen)
                                                                  : "c++, g++ or clang++ not found";
  return sought + ": only the built-in default configurations can run";
}

ProgramResult failed(std::string log) {
  ProgramResult result;
  result.log = std::move(log);
  return result;
}

class CpuDevice final : public Device {
 public:
  CpuDevice(std::shared_ptr<ThreadTeam> team, double compile_seconds)
      : identity_(processor_identity()),
        provenance_(host_provenance()),
        cache_(std::make_shared<CompileCache>(CompileCache::default_folder("cpu"))),
        compile_seconds_(compile_seconds),
        compilers_(usable_cores()),
        team_(std::move(team)) {
    if (const auto program = SystemCompiler::find()) compiler_ = std::make_shared<SystemCompiler>(*program, dialect());
  }

  std::string label() const override { return "cpu"; }
  const DeviceIdentity& identity() const override { return identity_; }

  const Provenance& provenance() const override {
    if (compiler_ && provenance_.compiler.empty()) provenance_.compiler = compiler_->version(*cache_);
    provenance_.date = utc_now();
    return provenance_;
  }

  std::string remark() const override { return compiler_ ? cache_->remark() : no_compiler(); }

  std::unique_ptr<CompileBatch> compile(std::vector<CompileRequest> requests) override {
    // The batch may outlive this object: it holds all it needs.
    const auto compile_program = [compiler = compiler_](const ProgramInput& input, const std::stop_token& stop) {
      return compiler ? compiler->compile(input, stop) : failed(no_compiler());
    };
    return start_batch(
        {.compile = compile_program,
         .words = host_words,
         .built_in =
             [architecture = identity_.architecture](const TemplateSource& source, const KernelInstance& kernel) {
               const bool exact = cpu::is_exact_kernel(kernel.name, architecture);
               const bool same_options = source.options() == (exact ? cpu_exact_options() : cpu_builtin_options());
               return source.embedded() && same_options && kernel.definitions.empty() &&
                      cpu::builtin_kernel(kernel.name, architecture) != nullptr;
             },
         .binary =
             [](std::vector<CompiledKernel> kernels) { return std::make_shared<const CpuBinary>(std::move(kernels)); },
         .fingerprint =
             [compiler = compiler_, cache = cache_](const std::stop_token& stop) {
               return compiler ? compiler->fingerprint(*cache, stop) : std::string();
             },
         .program_size = kProgramSize,
         .threads = compilers_,
         .seconds = compile_seconds_},
        cache_, requests);
  }

  std::int64_t compiler_calls() const override { return compiler_ ? compiler_->calls() : 0; }

  std::shared_ptr<Memory> allocate(std::int64_t bytes) override { return std::make_shared<CpuMemory>(bytes); }

  std::unique_ptr<Execution> prepare(Plan plan, std::shared_ptr<const Binary> binary, Bindings bindings) override {
    return std::make_unique<CpuExecution>(*team_, libraries_, identity_.architecture, std::move(plan), binary,
                                          bindings);
  }

  std::unique_ptr<LoadedKernel> load(const Plan& plan, std::shared_ptr<const Binary> binary) override {
    require_one_kernel(plan);
    for (const Buffer& buffer : plan.buffers) {
      if (!buffer.symbol.empty()) throw no_constant(buffer, "cpu");
    }
    return std::make_unique<CpuLoadedKernel>(*team_, plan,
                                             load_functions(libraries_, identity_.architecture, plan, binary.get()));
  }

  std::string contention() override {
    if (!team_->reduced() || std::exchange(told_, true)) return {};
    return "cpu: other programs use the cores: fewer threads run while that is so, with the same results";
  }

  std::shared_ptr<void> occupy() override {
    return std::make_shared<std::jthread>([](const std::stop_token& stop) {
      while (!stop.stop_requested()) continue;
    });
  }

 private:
  DeviceIdentity identity_;
  mutable Provenance provenance_;
  std::shared_ptr<CompileCache> cache_;
  std::shared_ptr<SystemCompiler> compiler_;  // empty: there is none
  double compile_seconds_;                    // for a kernel
  unsigned compilers_;                        // at a time
  std::shared_ptr<ThreadTeam> team_;
  bool told_ = false;  // that there are fewer threads
  CpuLibraries libraries_;
};

}  // namespace

std::unique_ptr<Device> open_cpu_device(std::shared_ptr<ThreadTeam> team, const Compiling& compiling) {
  return std::make_unique<CpuDevice>(team ? std::move(team) : std::make_shared<ThreadTeam>(), compiling.seconds);
}

DeviceListing cpu_listing() {
  return {"cpu", processor_identity(), SystemCompiler::find() ? std::string() : no_compiler()};
}

}  // namespace heddle
