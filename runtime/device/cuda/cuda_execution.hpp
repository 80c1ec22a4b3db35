// A plan bound to memory and kernels of a CUDA device.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/runtime/device/argument_values.hpp"
#include "heddle/runtime/device/cuda/cuda_compiler.hpp"
#include "heddle/runtime/device/cuda/cuda_context.hpp"
#include "heddle/runtime/device/cuda/cuda_launch.hpp"
#include "heddle/runtime/device/cuda/cuda_pieces.hpp"
#include "heddle/runtime/device/cuda/cuda_routine.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle {

class CudaExecution : public Execution {
 public:
  /// Throws DeviceFailure(launch) if the plan cannot run here: no memory, too many threads, too much shared memory;
  /// std::invalid_argument if a binding is too small or of another device, or the binary is not of this plan.
  CudaExecution(std::shared_ptr<const CudaContext> context, CudaModules& modules, Plan plan,
                const std::shared_ptr<const Binary>& binary, const Bindings& bindings);
  ~CudaExecution() override;
  CudaExecution(const CudaExecution&) = delete;
  CudaExecution& operator=(const CudaExecution&) = delete;

  [[nodiscard]] const Plan& plan() const override { return plan_; }
  [[nodiscard]] Memory& memory(std::string_view buffer) override;
  void launch() override;
  void synchronize() override;
  [[nodiscard]] double time() override;
  void save() override;
  void restore() override;
  [[nodiscard]] std::optional<std::string> overrun() override;
  [[nodiscard]] std::optional<KernelResources> resources() override;

 private:
  /// A launch with its arguments packed once.
  struct Call {
    const CudaLaunch* launch = nullptr;  ///< into `launches_`
    std::string routine;                 ///< instead of a launch
    ArgumentValues arguments;
    /// Arguments of buffers that come in pieces: which of the arguments, which buffer of `pieces_`, and how far behind
    /// it.
    struct Moving {
      std::size_t argument, buffer;
      std::int64_t offset;
    };
    std::vector<Moving> moving;
    int piece = 0, next_piece = -1;  ///< what they want; what the next call wants that wants another
  };

  void bind(const Bindings& bindings);
  void load(CudaModules& modules, const CudaBinary& binary);
  void find_constants();
  void copy_constants();
  void pack();
  [[nodiscard]] bool kept(std::size_t buffer) const;
  void capture();
  void submit(CUstream stream);
  void run();

  std::shared_ptr<const CudaContext> context_;
  Plan plan_;
  std::vector<std::shared_ptr<CudaMemory>> memory_;  ///< of each buffer; empty where it comes in pieces
  std::unique_ptr<CudaPieces> pieces_;
  /// Of each buffer that comes in pieces: its memory on the host, and its number in `pieces_`.
  std::map<std::size_t, std::pair<std::shared_ptr<CudaHostMemory>, std::size_t>> in_pieces_;
  std::vector<std::size_t> guarded_;  ///< buffers that were allocated here
  std::shared_ptr<CudaMemory> saved_;
  std::vector<std::shared_ptr<const CudaModule>> modules_;
  std::unique_ptr<CudaRoutines> routines_;
  /// Buffers that are copied to variables before each run, by index, and where to.
  std::vector<std::pair<std::size_t, CUdeviceptr>> constants_;
  /// One for all calls of a kernel with the same geometry: a plan has thousands of calls and few of these.
  std::vector<std::unique_ptr<const CudaLaunch>> launches_;
  std::vector<Call> calls_;
  CUgraphExec graph_ = nullptr;
  CUevent start_ = nullptr, stop_ = nullptr;
};

}  // namespace heddle
