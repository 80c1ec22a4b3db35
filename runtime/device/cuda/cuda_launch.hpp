// What the driver has to know of a launch, and a kernel that is launched with the arguments of a caller.
#pragma once

#include <memory>
#include <vector>

#include "heddle/runtime/device/cuda/cuda_compiler.hpp"
#include "heddle/runtime/device/cuda/cuda_context.hpp"
#include "heddle/runtime/device/loaded_kernel.hpp"

namespace heddle {

/// The geometry of a launch, and the function. Not copyable: `config` refers to `attributes`.
class CudaLaunch {
 public:
  /// Lets the function have the shared memory and the cluster that the launch asks for. Throws DeviceFailure(launch) if
  /// it cannot be launched like this: too many threads, too much shared memory, or no room for blocks that have to run
  /// at once, on what the driver grants this process of the card; or if the kernel takes other arguments than the
  /// launch gives, by their number or bytes, where the driver knows. `kernel`: what to call it then.
  CudaLaunch(const CudaContext& context, CUfunction function, const Launch& launch, const KernelInstance& kernel);
  CudaLaunch(const CudaLaunch&) = delete;
  CudaLaunch& operator=(const CudaLaunch&) = delete;

  /// `values`: where each argument lies. Needs the context to be current. Returns what the driver says, since what an
  /// error means depends on whose launch it is.
  [[nodiscard]] CUresult submit(const CudaContext& context, CUstream stream, void* const* values) const;

  /// Needs the context to be current. Throws DeviceFailure.
  [[nodiscard]] KernelResources resources(const CudaContext& context) const;

 private:
  void allow(const CudaContext& context, const Launch& launch) const;
  void require_arguments(const CudaContext& context, const Launch& launch, const KernelInstance& kernel) const;
  void require_room(const CudaContext& context, const Launch& launch, const KernelInstance& kernel) const;

  CUfunction function_;
  CUlaunchConfig config_{};
  std::vector<CUlaunchAttribute> attributes_;
};

class CudaLoadedKernel final : public LoadedKernel {
 public:
  /// `plan` passed require_one_kernel(). Throws std::invalid_argument if the binary is not of this plan, and what
  /// CudaLaunch throws.
  CudaLoadedKernel(std::shared_ptr<const CudaContext> context, CudaModules& modules, const Plan& plan,
                   const Binary* binary);
  void launch(void* const* values, std::optional<Stream> stream) const override;

 private:
  std::shared_ptr<const CudaContext> context_;
  std::shared_ptr<const CudaModule> module_;
  std::unique_ptr<const CudaLaunch> launch_;
  struct Constant {
    CUdeviceptr variable = 0;
    std::size_t bytes = 0, value = 0;  ///< `value`: CallConstant::value
  };
  std::vector<Constant> constants_;
};

}  // namespace heddle
