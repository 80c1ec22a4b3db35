#include "heddle/runtime/device/argument_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <stdexcept>
#include <variant>

namespace heddle {
namespace {

/// The bytes of an argument and how they are aligned. Without bytes: an address that is not known yet.
struct Piece {
  const void* from = nullptr;
  std::size_t size = 0, alignment = 1;
};

struct PieceOf {
  template <class Number>
  Piece operator()(const Number& number) const {
    return {&number, sizeof(Number), alignof(Number)};
  }
  Piece operator()(const BufferArgument&) const { return {nullptr, sizeof(std::uint64_t), alignof(std::uint64_t)}; }
  Piece operator()(const StructArgument& value) const {
    if (value.bytes.empty() || !std::has_single_bit(value.alignment)) {
      throw std::invalid_argument(
          fmt::format("a struct of {} bytes aligned to {} cannot be an argument", value.bytes.size(), value.alignment));
    }
    return {value.bytes.data(), value.bytes.size(), value.alignment};
  }
};

}  // namespace

void ArgumentValues::Free::operator()(std::byte* memory) const noexcept {
  ::operator delete (memory, std::align_val_t{alignment});
}

ArgumentValues::ArgumentValues(const std::vector<Argument>& arguments) {
  if (arguments.empty()) return;
  std::vector<std::size_t> offsets;
  offsets.reserve(arguments.size());
  std::size_t bytes = 0, alignment = 1;
  for (const Argument& argument : arguments) {
    const Piece piece = std::visit(PieceOf(), argument);
    bytes = (bytes + piece.alignment - 1) / piece.alignment * piece.alignment;
    offsets.push_back(bytes);
    bytes += piece.size;
    alignment = std::max(alignment, piece.alignment);
  }
  memory_ = {static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment})), Free{alignment}};
  std::memset(memory_.get(), 0, bytes);
  places_.reserve(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    places_.push_back(memory_.get() + offsets[i]);
    const Piece piece = std::visit(PieceOf(), arguments[i]);
    if (piece.from != nullptr) std::memcpy(places_.back(), piece.from, piece.size);
  }
}

void ArgumentValues::set_address(std::size_t index, std::uint64_t address) noexcept {
  std::memcpy(places_[index], &address, sizeof address);
}

}  // namespace heddle
