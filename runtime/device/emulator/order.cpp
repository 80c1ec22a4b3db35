#include "heddle/runtime/device/emulator/order.hpp"

namespace heddle::emulator {

std::size_t Order::draw(std::size_t count) {
  if (state_ == 0 || count <= 1) return 0;
  // xorshift64*, Vigna.
  state_ ^= state_ >> 12;
  state_ ^= state_ << 25;
  state_ ^= state_ >> 27;
  return static_cast<std::size_t>((state_ * 0x2545f4914f6cdd1dULL >> 33) % count);
}

}  // namespace heddle::emulator
