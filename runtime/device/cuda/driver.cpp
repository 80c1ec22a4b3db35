#include "heddle/runtime/device/cuda/driver.hpp"

#include <fmt/format.h>

namespace heddle {
namespace {

#define HEDDLE_TEXT_OF(name) #name
#define HEDDLE_TEXT(name) HEDDLE_TEXT_OF(name)

/// After these a context is lost: every later call in it returns the same error.
bool is_fatal(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
      return true;
    default:
      return false;
  }
}

Status status_of(CUresult result) {
  if (is_fatal(result)) return Status::illegal_access;
  return result == CUDA_ERROR_LAUNCH_TIMEOUT ? Status::hang : Status::launch;
}

/// Of the caller's context and stream, whatever configuration runs: another one would fail as well.
bool concerns_caller(CUresult result) {
  switch (result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::shared_ptr<const Driver> Driver::open() {
  std::shared_ptr<Driver> driver(new Driver);
  driver->library_ = SharedLibrary("libcuda.so.1");
  if (!driver->library_)
    throw Error(ErrorKind::device, "no NVIDIA driver: libcuda.so.1 cannot be opened; install the driver of the card");
  const char* missing = nullptr;
#define HEDDLE_CUDA_FIND(name) \
  if (!driver->library_.find(HEDDLE_TEXT(name), driver->name)) missing = HEDDLE_TEXT(name);
  HEDDLE_CUDA_FUNCTIONS(HEDDLE_CUDA_FIND)
#undef HEDDLE_CUDA_FIND
  if (!driver->library_.find("cuEventElapsedTime", driver->event_elapsed_time)) missing = "cuEventElapsedTime";
  static_cast<void>(driver->library_.find("cuFuncGetParamInfo", driver->function_parameter));
  if (missing != nullptr)
    throw Error(
        ErrorKind::device,
        fmt::format("the NVIDIA driver is too old: libcuda.so.1 has no {}; CUDA 12.0 or later is needed", missing));
  if (const CUresult result = driver->cuInit(0); result != CUDA_SUCCESS)
    throw Error(ErrorKind::device, fmt::format("no usable NVIDIA GPU: {}", driver->text(result)));
  if (driver->cuDriverGetVersion(&driver->version_) != CUDA_SUCCESS) driver->version_ = 0;
  return driver;
}

std::string Driver::text(CUresult result) const {
  const char* name = nullptr;
  const char* meaning = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr)
    return fmt::format("CUDA error {}", static_cast<int>(result));
  if (cuGetErrorString(result, &meaning) != CUDA_SUCCESS || meaning == nullptr) return name;
  return fmt::format("{} ({})", name, meaning);
}

void Driver::check_call(CUresult result, const std::string& where, const char* what) const {
  if (concerns_caller(result)) throw Error(ErrorKind::usage, fmt::format("{}: {}: {}", where, what, text(result)));
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw DeviceFailure(Status::out_of_memory, fmt::format("{}: {}: {}", where, what, text(result)));
  check(result, where, what);
}

void Driver::check(CUresult result, const std::string& where, const char* what) const {
  if (result == CUDA_SUCCESS) return;
  throw DeviceFailure(
      status_of(result),
      fmt::format("{}: {}: {}{}", where, what, text(result),
                  is_fatal(result) ? "; this device cannot be used until the program is started again" : ""));
}

}  // namespace heddle
