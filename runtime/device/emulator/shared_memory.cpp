// The pieces of a block's shared memory, each with an untouchable gap behind it.
#include <fmt/format.h>

#include "heddle/runtime/device/emulator/grid.hpp"

namespace heddle::emulator {
namespace {

constexpr std::size_t kPieceGap = 256;  // bytes between two pieces of shared memory; touching them is a fault
constexpr std::size_t kPieces = 64;     // largest number of pieces in one block

}  // namespace

std::size_t Grid::shared_span() const {
  return static_cast<std::size_t>(launch_.shape->shared_bytes) + kPieces * kPieceGap;
}

void* Grid::shared_piece(int piece, int offset, int count, const void* at) {
  Block& block = *current_thread().block;
  const auto known = static_cast<std::size_t>(piece);
  if (known < block.pieces.size()) {
    const Piece& there = block.pieces[known];
    if (there.offset != offset || there.count != count) {
      stop(Status::wrong_result,
           fmt::format(
               "piece {} of shared memory is {} words here and {} words elsewhere in the block: every thread has "
               "to take the same pieces in the same order",
               piece, count, there.count),
           at);
    }
    return there.address;
  }
  const std::int64_t bytes = launch_.shape->shared_bytes;
  if (count < 0 || (static_cast<std::int64_t>(offset) + count) * 4 > bytes || known >= kPieces) {
    stop(Status::illegal_access,
         fmt::format("takes words {} to {} of shared memory, and the launch has {} bytes", offset, offset + count,
                     bytes),
         at);
  }
  std::byte* address = block.shared + static_cast<std::size_t>(offset) * 4 + known * kPieceGap;
  machine_.space.open(address, static_cast<std::size_t>(count) * 4, Cell::kShared);
  block.pieces.push_back({offset, count, address});
  return address;
}

}  // namespace heddle::emulator
