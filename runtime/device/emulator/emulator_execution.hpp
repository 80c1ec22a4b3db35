// Plans on the emulator: memory, loaded kernels, launches.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/runtime/device/argument_values.hpp"
#include "heddle/runtime/device/cpu/scratch_folder.hpp"
#include "heddle/runtime/device/device.hpp"
#include "heddle/runtime/device/emulator/capability.hpp"
#include "heddle/runtime/device/emulator/finding.hpp"
#include "heddle/runtime/device/emulator/kernel/interface.hpp"
#include "heddle/runtime/device/emulator/machine.hpp"
#include "heddle/runtime/device/host_snapshot.hpp"
#include "heddle/runtime/device/program_batch.hpp"

namespace heddle {

/// Memory of exactly the bytes that were asked for, every word with a note of who wrote it. What the host writes or
/// fills is written.
class EmulatorMemory final : public Memory {
 public:
  EmulatorMemory(std::shared_ptr<emulator::Machine> machine, std::int64_t bytes);
  ~EmulatorMemory() override;
  EmulatorMemory(const EmulatorMemory&) = delete;
  EmulatorMemory& operator=(const EmulatorMemory&) = delete;
  [[nodiscard]] std::int64_t bytes() const override { return bytes_; }
  void write(std::span<const std::byte> from, std::int64_t offset = 0) override;
  void read(std::span<std::byte> to, std::int64_t offset = 0) const override;
  void fill(std::byte value) override;
  void copy(const Memory& from) override;

  [[nodiscard]] std::byte* address() const noexcept { return address_; }
  [[nodiscard]] void* pointer() noexcept override { return address_; }

 private:
  [[nodiscard]] std::byte* range(std::int64_t offset, std::size_t count) const;

  std::shared_ptr<emulator::Machine> machine_;
  std::int64_t bytes_;
  std::byte* address_;
};

class EmulatorBinary final : public Binary {
 public:
  explicit EmulatorBinary(std::vector<CompiledKernel> kernels) : kernels_(std::move(kernels)) {}
  [[nodiscard]] const std::vector<CompiledKernel>& kernels() const noexcept { return kernels_; }

 private:
  std::vector<CompiledKernel> kernels_;
};

/// A shared object that was written to a file of its own, where debuggers and addr2line find it, and loaded.
class EmulatorCode {
 public:
  explicit EmulatorCode(const CompiledBlob& blob);  ///< throws DeviceFailure(launch)
  ~EmulatorCode();
  EmulatorCode(const EmulatorCode&) = delete;
  EmulatorCode& operator=(const EmulatorCode&) = delete;
  [[nodiscard]] emulator::Kernel kernel(const std::string& symbol) const;  ///< throws DeviceFailure(launch)
  /// Its parameters, as parameters() of hooks.hpp gives them.
  [[nodiscard]] std::string_view parameters(const std::string& symbol) const;
  [[nodiscard]] const emulator::LoadedCode& loaded() const noexcept { return loaded_; }
  /// The memory of a __constant__ variable; empty if there is none of this name.
  [[nodiscard]] std::span<std::byte> constant(std::string_view name) const;

 private:
  [[nodiscard]] void* symbol(const std::string& name) const;

  ScratchFolder folder_;
  void* handle_ = nullptr;
  emulator::LoadedCode loaded_;
};

/// Objects that are loaded now, by digest. May be used from several threads at once.
class EmulatorCodes {
 public:
  [[nodiscard]] std::shared_ptr<const EmulatorCode> load(const CompiledBlob& blob);

 private:
  std::mutex loading_;
  std::map<std::string, std::weak_ptr<const EmulatorCode>> loaded_;
};

/// The kernels of a plan, and what keeps them loaded.
struct EmulatorFunctions {
  std::vector<std::shared_ptr<const EmulatorCode>> codes;
  std::vector<emulator::LoadedCode> loaded;
  std::vector<emulator::Kernel> kernels;
};
/// Throws DeviceFailure(launch) if the plan cannot run on a device of this capability, or gives a kernel other
/// arguments than it takes; std::invalid_argument if the binary is not of this plan and device.
[[nodiscard]] EmulatorFunctions load_functions(EmulatorCodes& codes, const emulator::Capability& capability,
                                               const Plan& plan, const Binary* binary);

/// The memory of the emulator, and which thread uses it.
struct EmulatorState {
  std::shared_ptr<emulator::Machine> machine = std::make_shared<emulator::Machine>();
  EmulatorCodes codes;
  std::mutex launching;  ///< of loaded kernels, which several threads may launch
};

/// Every launch works on copies of the caller's buffers, so that all accesses are checked.
class EmulatorLoadedKernel final : public LoadedKernel {
 public:
  /// `plan` passed require_one_kernel(). `state` must outlive this. Throws as load_functions() does.
  EmulatorLoadedKernel(EmulatorState& state, const emulator::Capability& capability, std::uint64_t seed, Plan plan,
                       std::shared_ptr<const Binary> binary);
  void launch(void* const* values, std::optional<Stream> stream) const override;

 private:
  EmulatorState& state_;
  const emulator::Capability& capability_;
  std::uint64_t seed_;
  Plan plan_;
  std::shared_ptr<const Binary> binary_;
  EmulatorFunctions functions_;
};

class EmulatorExecution final : public Execution {
 public:
  /// `codes` must outlive this. `seed`: of the order of threads.
  EmulatorExecution(std::shared_ptr<emulator::Machine> machine, EmulatorCodes& codes,
                    const emulator::Capability& capability, std::uint64_t seed, Plan plan,
                    const std::shared_ptr<const Binary>& binary, const Bindings& bindings);

  [[nodiscard]] const Plan& plan() const override { return plan_; }
  [[nodiscard]] Memory& memory(std::string_view buffer) override;
  /// Runs to the end. Throws DeviceFailure with the first finding.
  void launch() override;
  void synchronize() override {}
  [[nodiscard]] double time() override;
  void save() override;
  void restore() override;
  /// Never: what is outside a buffer cannot be written.
  [[nodiscard]] std::optional<std::string> overrun() override { return {}; }

 private:
  void begin_run();
  void find_constants();
  void show_piece(const Launch& launch);
  void call(std::size_t launch);
  [[nodiscard]] std::byte* address_of(const BufferArgument& argument) const;
  [[nodiscard]] std::string describe(const void* address) const;

  std::shared_ptr<emulator::Machine> machine_;
  std::uint64_t seed_;
  Plan plan_;
  EmulatorFunctions functions_;
  std::vector<std::shared_ptr<EmulatorMemory>> memory_;  ///< one per buffer
  std::vector<ArgumentValues> arguments_;                ///< of each launch
  /// Buffers that are copied to variables before each run, by index.
  std::vector<std::pair<std::size_t, std::span<std::byte>>> constants_;
  HostSnapshot snapshot_;
};

}  // namespace heddle
