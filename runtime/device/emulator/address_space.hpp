// The memory that emulated kernels may touch, with a record beside every word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace heddle::emulator {

/// The knowledge about one word (4 bytes). Masks have a bit per byte. A word is untouchable until it is allocated.
struct Cell {
  std::uint32_t writer = 0;    ///< segment of the last write, see Segments; 0: the host, or nobody
  std::uint32_t reader = 0;    ///< of the reads since; with kSeveral set: the number of a ReadSet
  std::uint32_t write_at = 0;  ///< low half of the address of the instruction
  std::uint32_t read_at = 0;
  std::uint8_t exists = 0;   ///< mask
  std::uint8_t written = 0;  ///< mask
  std::uint8_t flags = 0;
  std::uint8_t touched = 0;  ///< low half: bytes of the last write; high half: bytes of the reads since

  static constexpr std::uint32_t kSeveral = 0x80000000U;
  static constexpr std::uint8_t kReadOnly = 1, kWriterAtomic = 2, kReadersAtomic = 4, kInFlight = 8, kShared = 16;
  static constexpr std::uint8_t kAllBytes = 0xf;
};

/// Reserves addresses once; memory is used as it is touched. Not thread-safe.
class AddressSpace {
 public:
  static constexpr std::size_t kBytes = std::size_t{4} << 30;
  static constexpr std::size_t kWord = 4;
  /// Untouchable bytes on both sides of every allocation.
  static constexpr std::size_t kMargin = std::size_t{64} << 10;

  AddressSpace();  ///< throws DeviceFailure(launch)
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  /// Exactly `bytes` touchable bytes that nobody has written, 256-byte aligned. Throws DeviceFailure(launch).
  [[nodiscard]] std::byte* allocate(std::size_t bytes);
  /// The same without touchable bytes: see open().
  [[nodiscard]] std::byte* reserve(std::size_t bytes);
  void release(std::byte* address);

  [[nodiscard]] bool contains(const void* address) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - memory_) < kBytes;
  }
  [[nodiscard]] Cell& cell(const void* address) const noexcept {
    return cells_[static_cast<std::size_t>(static_cast<const std::byte*>(address) - memory_) / kWord];
  }
  /// Makes bytes touchable; nobody has written them. `flags`: of Cell.
  void open(std::byte* address, std::size_t bytes, std::uint8_t flags = 0);
  /// Makes them untouchable.
  void close(std::byte* address, std::size_t bytes);
  void mark_written(const std::byte* address, std::size_t bytes, bool written);
  void mark_read_only(const std::byte* address, std::size_t bytes, bool read_only);
  /// Forgets who touched what; what was written stays written.
  void forget_accesses();

 private:
  template <class Change>
  void for_each(const std::byte* address, std::size_t bytes, Change change) const;

  std::byte* memory_ = nullptr;
  Cell* cells_ = nullptr;
  std::map<std::size_t, std::size_t> taken_;  ///< offset -> bytes, margins left out
};

}  // namespace heddle::emulator
