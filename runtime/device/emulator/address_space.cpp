#include "heddle/runtime/device/emulator/address_space.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>

#include "heddle/runtime/device/device_failure.hpp"

namespace heddle::emulator {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kCellBytes = AddressSpace::kBytes / AddressSpace::kWord * sizeof(Cell);

std::size_t pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

void* map(std::size_t bytes) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    throw DeviceFailure(Status::launch, fmt::format("emulator: cannot reserve {} GiB of addresses", bytes >> 30));
  }
  return mapped;
}

}  // namespace

AddressSpace::AddressSpace()
    : memory_(static_cast<std::byte*>(map(kBytes))), cells_(static_cast<Cell*>(map(kCellBytes))) {}

AddressSpace::~AddressSpace() {
  ::munmap(memory_, kBytes);
  ::munmap(cells_, kCellBytes);
}

std::byte* AddressSpace::reserve(std::size_t bytes) {
  // The first gap that is wide enough, a margin on either side.
  std::size_t begin = kMargin;
  for (const auto& [offset, size] : taken_) {
    if (begin + pages(bytes) + kMargin <= offset) break;
    begin = offset + pages(size) + kMargin;
  }
  if (bytes > kBytes || begin + pages(bytes) + kMargin > kBytes) {
    throw DeviceFailure(Status::launch, fmt::format("emulator: cannot allocate {} bytes", bytes));
  }
  taken_.emplace(begin, std::max<std::size_t>(bytes, 1));
  return memory_ + begin;
}

std::byte* AddressSpace::allocate(std::size_t bytes) {
  std::byte* address = reserve(bytes);
  open(address, bytes);
  return address;
}

void AddressSpace::release(std::byte* address) {
  const auto found = taken_.find(static_cast<std::size_t>(address - memory_));
  if (found == taken_.end()) return;
  const std::size_t bytes = pages(found->second);
  ::madvise(address, bytes, MADV_DONTNEED);
  ::madvise(&cell(address), bytes / kWord * sizeof(Cell), MADV_DONTNEED);
  taken_.erase(found);
}

/// Calls `change` with every cell of the range and the mask of its bytes inside.
template <class Change>
void AddressSpace::for_each(const std::byte* address, std::size_t bytes, Change change) const {
  const auto begin = static_cast<std::size_t>(address - memory_), end = begin + bytes;
  for (std::size_t word = begin / kWord; word * kWord < end; ++word) {
    unsigned mask = Cell::kAllBytes;
    if (word * kWord < begin) mask &= Cell::kAllBytes << (begin - word * kWord);
    if ((word + 1) * kWord > end) mask &= Cell::kAllBytes >> ((word + 1) * kWord - end);
    change(cells_[word], static_cast<std::uint8_t>(mask));
  }
}

void AddressSpace::open(std::byte* address, std::size_t bytes, std::uint8_t flags) {
  for_each(address, bytes, [flags](Cell& cell, std::uint8_t mask) {
    const std::uint8_t exists = cell.exists;
    cell = {};
    cell.exists = exists | mask;
    cell.flags = flags;
  });
}

void AddressSpace::close(std::byte* address, std::size_t bytes) {
  for_each(address, bytes, [](Cell& cell, std::uint8_t) { cell = {}; });
}

void AddressSpace::mark_written(const std::byte* address, std::size_t bytes, bool written) {
  for_each(address, bytes, [written](Cell& cell, std::uint8_t mask) {
    cell.written = written ? cell.written | mask : cell.written & ~mask;
  });
}

void AddressSpace::mark_read_only(const std::byte* address, std::size_t bytes, bool read_only) {
  for_each(address, bytes, [read_only](Cell& cell, std::uint8_t) {
    cell.flags = read_only ? cell.flags | Cell::kReadOnly : cell.flags & ~Cell::kReadOnly;
  });
}

void AddressSpace::forget_accesses() {
  for (const auto& [offset, bytes] : taken_) {
    for_each(memory_ + offset, bytes, [](Cell& cell, std::uint8_t) { cell.writer = cell.reader = 0; });
  }
}

}  // namespace heddle::emulator
