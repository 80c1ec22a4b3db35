// The CUDA driver, opened at run time. Includes cuda.h: only files of this folder include it.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>

#include "heddle/runtime/device/cuda/shared_library.hpp"
#include "heddle/runtime/device/device.hpp"

// cuda.h maps some names to versions of them ("cuMemAlloc_v2"); members and symbols follow it.
#define HEDDLE_CUDA_FUNCTIONS(X)                 \
  X(cuInit)                                      \
  X(cuDriverGetVersion)                          \
  X(cuGetErrorName)                              \
  X(cuGetErrorString)                            \
  X(cuDeviceGetCount)                            \
  X(cuDeviceGet)                                 \
  X(cuDeviceGetName)                             \
  X(cuDeviceGetUuid)                             \
  X(cuDeviceGetAttribute)                        \
  X(cuDeviceTotalMem)                            \
  X(cuDeviceGetPCIBusId)                         \
  X(cuDevicePrimaryCtxRetain)                    \
  X(cuDevicePrimaryCtxRelease)                   \
  X(cuCtxPushCurrent)                            \
  X(cuCtxPopCurrent)                             \
  X(cuCtxGetCurrent)                             \
  X(cuCtxGetDevice)                              \
  X(cuStreamCreate)                              \
  X(cuStreamDestroy)                             \
  X(cuStreamSynchronize)                         \
  X(cuStreamWaitEvent)                           \
  X(cuStreamBeginCapture)                        \
  X(cuStreamEndCapture)                          \
  X(cuEventCreate)                               \
  X(cuEventDestroy)                              \
  X(cuEventRecord)                               \
  X(cuEventSynchronize)                          \
  X(cuMemAlloc)                                  \
  X(cuMemFree)                                   \
  X(cuMemGetAddressRange)                        \
  X(cuMemHostAlloc)                              \
  X(cuMemFreeHost)                               \
  X(cuMemcpyHtoDAsync)                           \
  X(cuMemcpyDtoHAsync)                           \
  X(cuMemcpyDtoDAsync)                           \
  X(cuMemsetD8Async)                             \
  X(cuMemsetD2D8Async)                           \
  X(cuModuleLoadData)                            \
  X(cuModuleUnload)                              \
  X(cuModuleGetFunction)                         \
  X(cuModuleGetGlobal)                           \
  X(cuFuncGetAttribute)                          \
  X(cuFuncSetAttribute)                          \
  X(cuLaunchKernelEx)                            \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(cuOccupancyMaxActiveClusters)                \
  X(cuGraphInstantiateWithFlags)                 \
  X(cuGraphLaunch)                               \
  X(cuGraphExecDestroy)                          \
  X(cuGraphDestroy)

namespace heddle {

/// The functions of libcuda.so.1 that heddle calls. Immutable; may be shared between threads.
class Driver {
 public:
  /// Opens and initialises the driver. Throws Error(device): not installed, too old, or no usable GPU.
  [[nodiscard]] static std::shared_ptr<const Driver> open();

#define HEDDLE_CUDA_MEMBER(name) decltype(&::name) name = nullptr;  // NOLINT(bugprone-macro-parentheses)
  HEDDLE_CUDA_FUNCTIONS(HEDDLE_CUDA_MEMBER)
#undef HEDDLE_CUDA_MEMBER
  /// By the name it has had since CUDA 4, which cuda.h of CUDA 13 hides behind one that older drivers lack.
  CUresult (*event_elapsed_time)(float* milliseconds, CUevent start, CUevent end) = nullptr;

  /// Where a parameter of a kernel lies, and its bytes; CUDA_ERROR_INVALID_VALUE behind the last one. Null: drivers
  /// before CUDA 12.4 do not say.
  CUresult (*function_parameter)(CUfunction function, std::size_t index, std::size_t* offset,
                                 std::size_t* bytes) = nullptr;

  /// CUDA version that the driver supports: 13000 for 13.0.
  [[nodiscard]] int version() const noexcept { return version_; }
  /// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"
  [[nodiscard]] std::string text(CUresult result) const;
  /// Throws DeviceFailure with the status that `result` means, and "<where>: <what>: <error>".
  void check(CUresult result, const std::string& where, const char* what) const;
  /// The same for launches by a program. Of errors that another configuration would meet too, those of its context or
  /// stream are Error(usage), and lack of memory is Status::out_of_memory.
  void check_call(CUresult result, const std::string& where, const char* what) const;

 private:
  Driver() = default;
  SharedLibrary library_;
  int version_ = 0;
};

}  // namespace heddle
