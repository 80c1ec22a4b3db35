// NVIDIA GPUs through the driver API and NVRTC, both opened at run time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/runtime/device/caller_memory.hpp"
#include "heddle/runtime/device/device.hpp"

// CUcontext and CUstream of cuda.h, which users of heddle need not have.
struct CUctx_st;
struct CUstream_st;

namespace heddle {

class CudaDevice : public Device, public CallerMemory {
 public:
  /// Works in the primary context of GPU `ordinal`, on a stream of its own. Throws Error(device): no driver, no such
  /// GPU, no NVRTC for it, or a cache folder that others may write to.
  explicit CudaDevice(int ordinal, const Compiling& compiling = {});
  /// Works in the caller's context and stream (null: the default stream), which must outlive the device and all that
  /// was made by it. The context is made current during each call only.
  CudaDevice(CUctx_st* context, CUstream_st* stream);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  [[nodiscard]] std::string label() const override;
  [[nodiscard]] const DeviceIdentity& identity() const override;
  [[nodiscard]] std::string unit() const override;
  /// Clocks and date are those of the call.
  [[nodiscard]] const Provenance& provenance() const override;
  [[nodiscard]] std::string remark() const override;
  [[nodiscard]] std::unique_ptr<CompileBatch> compile(std::vector<CompileRequest> requests) override;
  [[nodiscard]] std::optional<std::int64_t> local_bytes(const Binary& binary) const override;
  [[nodiscard]] std::int64_t compiler_calls() const override;
  [[nodiscard]] std::optional<double> joules() override;
  [[nodiscard]] std::shared_ptr<Memory> allocate(std::int64_t bytes) override;
  [[nodiscard]] bool same(Memory& a, Memory& b) override;
  void prepare_to_compare() override;
  [[nodiscard]] std::optional<std::int64_t> bytes_behind(const void* address) const override;
  void read_at(const void* address, std::span<std::byte> to, Stream stream) const override;
  [[nodiscard]] std::unique_ptr<Execution> prepare(Plan plan, std::shared_ptr<const Binary> binary,
                                                   Bindings bindings = {}) override;

  [[nodiscard]] std::unique_ptr<LoadedKernel> load(const Plan& plan, std::shared_ptr<const Binary> binary) override;

  /// Memory of the caller's in this device's context, to be used in Bindings; never freed by heddle.
  [[nodiscard]] std::shared_ptr<Memory> wrap(std::uint64_t address, std::int64_t bytes);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// One line per GPU; or one that says why there is none.
[[nodiscard]] std::vector<DeviceListing> cuda_listings();

}  // namespace heddle
