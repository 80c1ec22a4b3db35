// Buffers that stay in the host's memory and reach a CUDA device piece by piece (Buffer::piece_bytes). Includes cuda.h:
// only files of this folder include it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/runtime/device/cuda/cuda_context.hpp"

namespace heddle {

/// Memory of the host that the device copies from while it works: pinned, or ordinary where that is refused.
class CudaHostMemory : public Memory {
 public:
  CudaHostMemory(std::shared_ptr<const CudaContext> context, std::int64_t bytes);
  ~CudaHostMemory() override;
  CudaHostMemory(const CudaHostMemory&) = delete;
  CudaHostMemory& operator=(const CudaHostMemory&) = delete;

  [[nodiscard]] std::int64_t bytes() const override { return bytes_; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  void write(std::span<const std::byte> from, std::int64_t offset) override;
  void read(std::span<std::byte> to, std::int64_t offset) const override;
  void fill(std::byte value) override;

 private:
  [[nodiscard]] std::byte* range(std::int64_t offset, std::size_t count) const;

  std::shared_ptr<const CudaContext> context_;
  std::int64_t bytes_;
  std::byte* data_ = nullptr;
  bool pinned_ = false;
};

/// All such buffers of one execution: two pieces of each are on the device, one at work, one on its way.
class CudaPieces {
 public:
  explicit CudaPieces(std::shared_ptr<const CudaContext> context);
  ~CudaPieces();
  CudaPieces(const CudaPieces&) = delete;
  CudaPieces& operator=(const CudaPieces&) = delete;

  /// Adds a buffer; returns its memory on the host, and its number here.
  std::pair<std::shared_ptr<CudaHostMemory>, std::size_t> add(std::int64_t bytes, std::int64_t piece_bytes);

  /// Before a run: what is on the device may be out of date. All calls need a CudaContext::Scope.
  void begin(CUstream stream);
  /// Before a launch in `stream` that reads `piece`. `next`: the piece that is wanted after it; -1: none.
  void want(int piece, int next, CUstream stream);
  /// Where the first byte of a buffer would be if all of it were on the device as its present piece is.
  [[nodiscard]] CUdeviceptr address(std::size_t buffer) const;

 private:
  struct Buffer {
    std::shared_ptr<CudaHostMemory> host;
    std::unique_ptr<CudaMemory> slots;  ///< two pieces
    std::int64_t piece_bytes = 0;
  };
  void copy(int piece, std::size_t slot);

  std::shared_ptr<const CudaContext> context_;
  std::vector<Buffer> buffers_;
  CUstream copies_ = nullptr;
  std::array<CUevent, 2> arrived_{}, left_{};  ///< of each slot: its copy is done; launches that read it are
  std::array<int, 2> holds_{-1, -1};           ///< the piece in each slot
  std::size_t current_ = 0;
};

}  // namespace heddle
