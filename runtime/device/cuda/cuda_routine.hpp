// The routines of runtime/device/routine.hpp on a CUDA device, through cuSOLVER and cuBLAS, which are opened at run
// time. Includes cuda.h: only files of this folder include it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "heddle/runtime/device/cuda/cuda_context.hpp"

namespace heddle {

/// Handles and work space of one execution. Calls from one thread at a time.
class CudaRoutines {
 public:
  /// Throws DeviceFailure(launch) if the libraries are not installed.
  explicit CudaRoutines(std::shared_ptr<const CudaContext> context);
  ~CudaRoutines();
  CudaRoutines(const CudaRoutines&) = delete;
  CudaRoutines& operator=(const CudaRoutines&) = delete;

  /// Throws DeviceFailure(launch) if there is none of that name.
  static void require(std::string_view name);
  /// `arguments[i]`: where the i-th argument lies: an address on the device, or a number. Needs a CudaContext::Scope,
  /// and waits for the stream where what to do next depends on numbers on the device: not in a matrix product.
  void run(std::string_view name, const std::vector<void*>& arguments);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace heddle
