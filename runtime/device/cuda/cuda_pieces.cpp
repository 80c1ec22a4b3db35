#include "heddle/runtime/device/cuda/cuda_pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace heddle {
namespace {

constexpr std::size_t kPinnedAlignment = 256;

}  // namespace

CudaHostMemory::CudaHostMemory(std::shared_ptr<const CudaContext> context, std::int64_t bytes)
    : context_(std::move(context)), bytes_(bytes) {
  const CudaContext::Scope scope(*context_);
  const std::size_t size = (static_cast<std::size_t>(bytes) + kPinnedAlignment) / kPinnedAlignment * kPinnedAlignment;
  void* memory = nullptr;
  pinned_ = context_->driver().cuMemHostAlloc(&memory, size, 0) == CUDA_SUCCESS;
  if (!pinned_) memory = std::aligned_alloc(kPinnedAlignment, size);
  if (memory == nullptr)
    throw DeviceFailure(Status::out_of_memory, fmt::format("cannot allocate {} bytes of the host's memory", bytes));
  data_ = static_cast<std::byte*>(memory);
}

CudaHostMemory::~CudaHostMemory() {
  if (!pinned_) {
    std::free(data_);
    return;
  }
  try {
    const CudaContext::Scope scope(*context_);
    context_->driver().cuMemFreeHost(data_);
  } catch (const DeviceFailure&) {
    // The context is lost, and its memory with it.
  }
}

std::byte* CudaHostMemory::range(std::int64_t offset, std::size_t count) const {
  if (offset < 0 || offset > bytes_ || count > static_cast<std::size_t>(bytes_ - offset))
    throw std::out_of_range(fmt::format("{} bytes at {} of a buffer of {} bytes", count, offset, bytes_));
  const CudaContext::Scope scope(*context_);
  context_->synchronize();
  return data_ + offset;
}

void CudaHostMemory::write(std::span<const std::byte> from, std::int64_t offset) {
  std::byte* to = range(offset, from.size());
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

void CudaHostMemory::read(std::span<std::byte> to, std::int64_t offset) const {
  const std::byte* from = range(offset, to.size());
  if (!to.empty()) std::memcpy(to.data(), from, to.size());
}

void CudaHostMemory::fill(std::byte value) {
  std::memset(range(0, 0), std::to_integer<int>(value), static_cast<std::size_t>(bytes_));
}

CudaPieces::CudaPieces(std::shared_ptr<const CudaContext> context) : context_(std::move(context)) {
  const Driver& driver = context_->driver();
  const CudaContext::Scope scope(*context_);
  context_->check(driver.cuStreamCreate(&copies_, CU_STREAM_NON_BLOCKING), "cannot make a stream");
  for (std::size_t slot = 0; slot < 2; ++slot) {
    context_->check(driver.cuEventCreate(&arrived_[slot], CU_EVENT_DISABLE_TIMING), "cannot make an event");
    context_->check(driver.cuEventCreate(&left_[slot], CU_EVENT_DISABLE_TIMING), "cannot make an event");
  }
}

CudaPieces::~CudaPieces() {
  const Driver& driver = context_->driver();
  try {
    const CudaContext::Scope scope(*context_);
    driver.cuStreamSynchronize(copies_);
    for (const auto& events : {arrived_, left_}) {
      for (CUevent event : events) {
        if (event != nullptr) driver.cuEventDestroy(event);
      }
    }
    driver.cuStreamDestroy(copies_);
  } catch (const DeviceFailure&) {
    // The context is lost, and what was made in it.
  }
}

std::pair<std::shared_ptr<CudaHostMemory>, std::size_t> CudaPieces::add(std::int64_t bytes, std::int64_t piece_bytes) {
  buffers_.push_back({.host = std::make_shared<CudaHostMemory>(context_, bytes),
                      .slots = std::make_unique<CudaMemory>(context_, 2 * piece_bytes),
                      .piece_bytes = piece_bytes});
  return {buffers_.back().host, buffers_.size() - 1};
}

void CudaPieces::begin(CUstream stream) {
  context_->check(context_->driver().cuEventRecord(left_[current_], stream), "cannot record an event");
  holds_ = {-1, -1};
}

void CudaPieces::want(int piece, int next, CUstream stream) {
  if (holds_[current_] == piece) return;
  const Driver& driver = context_->driver();
  context_->check(driver.cuEventRecord(left_[current_], stream), "cannot record an event");
  const std::size_t left = std::exchange(current_, 1 - current_);
  if (holds_[current_] != piece) copy(piece, current_);
  context_->check(driver.cuStreamWaitEvent(stream, arrived_[current_], 0), "cannot wait for a copy");
  if (next >= 0 && holds_[left] != next) copy(next, left);
}

void CudaPieces::copy(int piece, std::size_t slot) {
  const Driver& driver = context_->driver();
  context_->check(driver.cuStreamWaitEvent(copies_, left_[slot], 0), "cannot wait for a launch");
  for (const Buffer& buffer : buffers_) {
    const std::int64_t from = piece * buffer.piece_bytes;
    const std::int64_t count = std::min(buffer.piece_bytes, buffer.host->bytes() - from);
    if (count <= 0) continue;
    const CUdeviceptr to = buffer.slots->address() + slot * static_cast<CUdeviceptr>(buffer.piece_bytes);
    context_->check(driver.cuMemcpyHtoDAsync(to, buffer.host->data() + from, static_cast<std::size_t>(count), copies_),
                    "cannot copy to the device");
  }
  context_->check(driver.cuEventRecord(arrived_[slot], copies_), "cannot record an event");
  holds_[slot] = piece;
}

CUdeviceptr CudaPieces::address(std::size_t buffer) const {
  const Buffer& what = buffers_[buffer];
  return what.slots->address() + (static_cast<CUdeviceptr>(current_) - static_cast<CUdeviceptr>(holds_[current_])) *
                                     static_cast<CUdeviceptr>(what.piece_bytes);
}

}  // namespace heddle
