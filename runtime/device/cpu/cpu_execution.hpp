// Plans on the CPU: memory, loaded kernels, launches.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "heddle/kernels/common/cpu_launch.hpp"
#include "heddle/runtime/device/argument_values.hpp"
#include "heddle/runtime/device/cpu/cpu_routine.hpp"
#include "heddle/runtime/device/cpu/thread_team.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/device/host_snapshot.hpp"
#include "heddle/runtime/device/program_batch.hpp"

namespace heddle {

/// Host memory with a guard behind its last byte.
class CpuMemory final : public Memory {
 public:
  explicit CpuMemory(std::int64_t bytes);  ///< contents undefined; throws DeviceFailure(launch)
  [[nodiscard]] std::int64_t bytes() const override { return bytes_; }
  void write(std::span<const std::byte> from, std::int64_t offset = 0) override;
  void read(std::span<std::byte> to, std::int64_t offset = 0) const override;
  void fill(std::byte value) override;
  void copy(const Memory& from) override;

  [[nodiscard]] std::byte* address() const noexcept { return memory_.get(); }
  [[nodiscard]] void* pointer() noexcept override { return address(); }
  [[nodiscard]] bool guard_intact() const;

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::byte* range(std::int64_t offset, std::size_t count) const;
  std::int64_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

class CpuBinary final : public Binary {
 public:
  explicit CpuBinary(std::vector<CompiledKernel> kernels) : kernels_(std::move(kernels)) {}
  [[nodiscard]] const std::vector<CompiledKernel>& kernels() const noexcept { return kernels_; }

 private:
  std::vector<CompiledKernel> kernels_;
};

/// A shared object in memory, loaded with its symbols to itself.
class CpuLibrary {
 public:
  explicit CpuLibrary(const CompiledBlob& blob);  ///< throws DeviceFailure(launch)
  ~CpuLibrary();
  CpuLibrary(const CpuLibrary&) = delete;
  CpuLibrary& operator=(const CpuLibrary&) = delete;
  [[nodiscard]] cpu::Kernel kernel(const std::string& symbol) const;  ///< throws DeviceFailure(launch)

 private:
  int file_ = -1;  // stays open: the loader tells objects apart by name, and the name is its number
  void* handle_ = nullptr;
};

/// Objects that are loaded now, by digest. May be used from several threads at once.
class CpuLibraries {
 public:
  [[nodiscard]] std::shared_ptr<const CpuLibrary> load(const CompiledBlob& blob);

 private:
  std::mutex loading_;
  std::map<std::string, std::weak_ptr<const CpuLibrary>> loaded_;
};

/// A kernel and what keeps it loaded.
struct CpuFunction {
  std::shared_ptr<const CpuLibrary> library;  ///< empty: built in
  cpu::Kernel kernel = nullptr;
};
/// The kernels of a plan. Throws std::invalid_argument if the binary is not of this plan and device.
[[nodiscard]] std::vector<CpuFunction> load_functions(CpuLibraries& libraries, const std::string& architecture,
                                                      const Plan& plan, const Binary* binary);

class CpuLoadedKernel final : public LoadedKernel {
 public:
  /// `plan` passed require_one_kernel(). `team` must outlive this.
  CpuLoadedKernel(ThreadTeam& team, const Plan& plan, std::vector<CpuFunction> functions);
  void launch(void* const* values, std::optional<Stream> stream) const override;

 private:
  ThreadTeam& team_;
  CpuFunction function_;
  int parts_;
  std::vector<bool> is_buffer_;  ///< of each argument
};

class CpuExecution final : public Execution {
 public:
  /// `team` and `libraries` must outlive this.
  CpuExecution(ThreadTeam& team, CpuLibraries& libraries, const std::string& architecture, Plan plan,
               const std::shared_ptr<const Binary>& binary, const Bindings& bindings);

  [[nodiscard]] const Plan& plan() const override { return plan_; }
  [[nodiscard]] Memory& memory(std::string_view buffer) override;
  void launch() override { run(&ThreadTeam::run_adapted); }
  void synchronize() override {}  // launch() returns when all is done
  [[nodiscard]] double time() override;
  void save() override;
  void restore() override;
  [[nodiscard]] std::optional<std::string> overrun() override;

 private:
  struct Call {
    cpu::Kernel kernel = nullptr;
    CpuRoutine routine = nullptr;  ///< instead of a kernel
    int parts = 1;
    ArgumentValues arguments;
  };

  void run(void (ThreadTeam::*how)(cpu::Kernel, void* const*, int));

  ThreadTeam& team_;
  Plan plan_;
  std::vector<CpuFunction> functions_;              ///< of each kernel
  std::vector<std::shared_ptr<CpuMemory>> memory_;  ///< one per buffer
  std::vector<std::size_t> guarded_;                ///< buffers that were allocated here
  std::vector<Call> calls_;
  HostSnapshot snapshot_;
};

}  // namespace heddle
