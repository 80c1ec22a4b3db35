// A context and a stream of the driver, with the memory and modules in them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/runtime/device/compile_cache.hpp"
#include "heddle/runtime/device/cuda/driver.hpp"
#include "heddle/runtime/device/device.hpp"

namespace heddle {

/// Shared by a device, its memory, its executions and its loaded kernels, so that none outlives it. Calls from any
/// thread: each makes the context current for as long as it lasts. Executions and memory are used by one thread at a
/// time; kernels may be loaded and launched by several at once.
class CudaContext {
 public:
  /// Retains the device's primary context and makes a stream of its own in it.
  CudaContext(std::shared_ptr<const Driver> driver, CUdevice device, std::string label);
  /// Works in the caller's context and stream, which must outlive this; null is the default stream.
  CudaContext(std::shared_ptr<const Driver> driver, CUcontext context, CUstream stream, std::string label);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  /// Makes the context current until it goes out of scope.
  class Scope {
   public:
    explicit Scope(const CudaContext& context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const Driver& driver_;
  };

  /// The same, but that nothing has to be done if the context is current already, as in most threads that launch
  /// kernels again and again.
  class Presence {
   public:
    explicit Presence(const CudaContext& context);
    ~Presence();
    Presence(const Presence&) = delete;
    Presence& operator=(const Presence&) = delete;

   private:
    const Driver* pushed_ = nullptr;
  };

  [[nodiscard]] const Driver& driver() const noexcept { return *driver_; }
  [[nodiscard]] CUstream stream() const noexcept { return stream_; }
  /// Throws DeviceFailure that names the device.
  void check(CUresult result, const char* what) const { driver_->check(result, label_, what); }
  /// The same for launches by a program; see Driver::check_call().
  void check_call(CUresult result, const char* what) const { driver_->check_call(result, label_, what); }
  /// Around reading and changing the attributes of a kernel function, which all its launches share.
  [[nodiscard]] std::unique_lock<std::mutex> lock_attributes() const { return std::unique_lock(attributes_); }
  /// Waits for the stream. Needs a Scope.
  void synchronize() const;

 private:
  std::shared_ptr<const Driver> driver_;
  std::string label_;
  CUdevice retained_ = -1;  ///< whose primary context was retained; -1: the caller's context
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  mutable std::mutex attributes_;
};

/// A range of device memory: an allocation, a part of one, or what a caller owns.
class CudaMemory : public Memory {
 public:
  /// Allocates; throws DeviceFailure(launch) if there is not enough memory.
  CudaMemory(std::shared_ptr<const CudaContext> context, std::int64_t bytes);
  /// `keeper`, if any, keeps the memory alive.
  CudaMemory(std::shared_ptr<const CudaContext> context, CUdeviceptr address, std::int64_t bytes,
             std::shared_ptr<const Memory> keeper);
  ~CudaMemory() override;
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  [[nodiscard]] std::int64_t bytes() const override { return bytes_; }
  [[nodiscard]] CUdeviceptr address() const noexcept { return address_; }
  [[nodiscard]] void* pointer() noexcept override {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address_));  // NOLINT(performance-no-int-to-ptr)
  }
  void write(std::span<const std::byte> from, std::int64_t offset) override;
  void read(std::span<std::byte> to, std::int64_t offset) const override;
  void fill(std::byte value) override;
  void copy(const Memory& from) override;

 private:
  void require_inside(std::size_t count, std::int64_t offset) const;

  std::shared_ptr<const CudaContext> context_;
  CUdeviceptr address_ = 0;
  std::int64_t bytes_ = 0;
  bool owned_ = false;
  std::shared_ptr<const Memory> keeper_;
};

/// A loaded cubin.
class CudaModule {
 public:
  CudaModule(std::shared_ptr<const CudaContext> context, const CompiledBlob& cubin);
  ~CudaModule();
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;

  /// Throws DeviceFailure(launch) if there is no such kernel.
  [[nodiscard]] CUfunction function(const std::string& symbol) const;
  /// Address and bytes of a __constant__ variable; nothing if there is none of this name.
  [[nodiscard]] std::optional<std::pair<CUdeviceptr, std::int64_t>> constant(std::string_view name) const;

 private:
  std::shared_ptr<const CudaContext> context_;
  CUmodule module_ = nullptr;
};

/// Modules by digest, so that configurations that share a cubin load it once. Kept until the device is closed: cubins
/// are small beside its memory, and unloading one waits for the GPU. May be used from several threads at once.
class CudaModules {
 public:
  [[nodiscard]] std::shared_ptr<const CudaModule> load(const std::shared_ptr<const CudaContext>& context,
                                                       const CompiledBlob& cubin);

 private:
  std::mutex loading_;
  std::map<std::string, std::shared_ptr<const CudaModule>> loaded_;
};

}  // namespace heddle
