#include "heddle/runtime/device/cuda/cuda_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "heddle/runtime/device/constant_symbol.hpp"

namespace heddle {

CudaContext::CudaContext(std::shared_ptr<const Driver> driver, CUdevice device, std::string label)
    : driver_(std::move(driver)), label_(std::move(label)) {
  check(driver_->cuDevicePrimaryCtxRetain(&context_, device), "cannot make a context");
  CUresult made;
  {
    const Scope scope(*this);
    made = driver_->cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING);
  }
  if (made != CUDA_SUCCESS) driver_->cuDevicePrimaryCtxRelease(device);
  check(made, "cannot make a stream");
  retained_ = device;
}

CudaContext::CudaContext(std::shared_ptr<const Driver> driver, CUcontext context, CUstream stream, std::string label)
    : driver_(std::move(driver)), label_(std::move(label)), context_(context), stream_(stream) {}

CudaContext::~CudaContext() {
  if (retained_ < 0) return;
  if (driver_->cuCtxPushCurrent(context_) == CUDA_SUCCESS) {
    driver_->cuStreamDestroy(stream_);
    CUcontext popped = nullptr;
    driver_->cuCtxPopCurrent(&popped);
  }
  driver_->cuDevicePrimaryCtxRelease(retained_);
}

CudaContext::Scope::Scope(const CudaContext& context) : driver_(context.driver()) {
  context.check(driver_.cuCtxPushCurrent(context.context_), "cannot use the context");
}

CudaContext::Scope::~Scope() {
  CUcontext popped = nullptr;
  driver_.cuCtxPopCurrent(&popped);
}

CudaContext::Presence::Presence(const CudaContext& context) {
  const Driver& driver = context.driver();
  CUcontext current = nullptr;
  context.check_call(driver.cuCtxGetCurrent(&current), "cannot use the context");
  if (current == context.context_) return;
  context.check_call(driver.cuCtxPushCurrent(context.context_), "cannot use the context");
  pushed_ = &driver;
}

CudaContext::Presence::~Presence() {
  CUcontext popped = nullptr;
  if (pushed_ != nullptr) pushed_->cuCtxPopCurrent(&popped);
}

void CudaContext::synchronize() const { check(driver_->cuStreamSynchronize(stream_), "a kernel failed"); }

CudaMemory::CudaMemory(std::shared_ptr<const CudaContext> context, std::int64_t bytes)
    : context_(std::move(context)), bytes_(bytes), owned_(true) {
  const CudaContext::Scope scope(*context_);
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  const CUresult result = context_->driver().cuMemAlloc(&address_, size);
  if (result != CUDA_SUCCESS) context_->check(result, fmt::format("cannot allocate {} bytes", bytes).c_str());
}

CudaMemory::CudaMemory(std::shared_ptr<const CudaContext> context, CUdeviceptr address, std::int64_t bytes,
                       std::shared_ptr<const Memory> keeper)
    : context_(std::move(context)), address_(address), bytes_(bytes), keeper_(std::move(keeper)) {}

CudaMemory::~CudaMemory() {
  if (!owned_) return;
  const Driver& driver = context_->driver();
  try {
    const CudaContext::Scope scope(*context_);
    driver.cuMemFree(address_);
  } catch (const DeviceFailure&) {
    // The context is lost, and its memory with it.
  }
}

void CudaMemory::require_inside(std::size_t count, std::int64_t offset) const {
  if (offset < 0 || offset > bytes_ || count > static_cast<std::size_t>(bytes_ - offset))
    throw std::out_of_range(fmt::format("{} bytes at {} of a buffer of {} bytes", count, offset, bytes_));
}

void CudaMemory::write(std::span<const std::byte> from, std::int64_t offset) {
  require_inside(from.size(), offset);
  if (from.empty()) return;
  const CudaContext::Scope scope(*context_);
  context_->check(context_->driver().cuMemcpyHtoDAsync(address_ + static_cast<CUdeviceptr>(offset), from.data(),
                                                       from.size(), context_->stream()),
                  "cannot copy to the device");
  context_->synchronize();
}

void CudaMemory::read(std::span<std::byte> to, std::int64_t offset) const {
  require_inside(to.size(), offset);
  if (to.empty()) return;
  const CudaContext::Scope scope(*context_);
  context_->check(context_->driver().cuMemcpyDtoHAsync(to.data(), address_ + static_cast<CUdeviceptr>(offset),
                                                       to.size(), context_->stream()),
                  "cannot copy from the device");
  context_->synchronize();
}

void CudaMemory::fill(std::byte value) {
  if (bytes_ == 0) return;
  const CudaContext::Scope scope(*context_);
  context_->check(context_->driver().cuMemsetD8Async(address_, std::to_integer<unsigned char>(value),
                                                     static_cast<std::size_t>(bytes_), context_->stream()),
                  "cannot fill memory");
}

void CudaMemory::copy(const Memory& from) {
  const auto* const other = dynamic_cast<const CudaMemory*>(&from);
  if (other == nullptr) {
    Memory::copy(from);
    return;
  }
  other->require_inside(static_cast<std::size_t>(bytes_), 0);
  if (bytes_ == 0) return;
  const CudaContext::Scope scope(*context_);
  context_->check(context_->driver().cuMemcpyDtoDAsync(address_, other->address_, static_cast<std::size_t>(bytes_),
                                                       context_->stream()),
                  "cannot copy memory");
}

CudaModule::CudaModule(std::shared_ptr<const CudaContext> context, const CompiledBlob& cubin)
    : context_(std::move(context)) {
  const CudaContext::Scope scope(*context_);
  context_->check(context_->driver().cuModuleLoadData(&module_, cubin.bytes.data()), "cannot load kernels");
}

CudaModule::~CudaModule() {
  try {
    const CudaContext::Scope scope(*context_);
    context_->driver().cuModuleUnload(module_);
  } catch (const DeviceFailure&) {
    // The context is lost, and its modules with it.
  }
}

CUfunction CudaModule::function(const std::string& symbol) const {
  CUfunction found = nullptr;
  const CudaContext::Scope scope(*context_);
  context_->check(context_->driver().cuModuleGetFunction(&found, module_, symbol.c_str()), "cannot load a kernel");
  return found;
}

std::optional<std::pair<CUdeviceptr, std::int64_t>> CudaModule::constant(std::string_view name) const {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  const CudaContext::Scope scope(*context_);
  const CUresult result =
      context_->driver().cuModuleGetGlobal(&address, &bytes, module_, mangled_variable(name).c_str());
  if (result == CUDA_ERROR_NOT_FOUND) return std::nullopt;
  context_->check(result, "cannot find a constant");
  return std::pair(address, static_cast<std::int64_t>(bytes));
}

std::shared_ptr<const CudaModule> CudaModules::load(const std::shared_ptr<const CudaContext>& context,
                                                    const CompiledBlob& cubin) {
  const std::lock_guard lock(loading_);
  std::shared_ptr<const CudaModule>& module = loaded_[cubin.digest];
  if (!module) module = std::make_shared<const CudaModule>(context, cubin);
  return module;
}

}  // namespace heddle
