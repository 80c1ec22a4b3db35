// The kernel that compares memory, on the emulated device.
#include "heddle/runtime/device/memory_comparison.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/runtime/device/emulator/emulator_device.hpp"

namespace heddle {
namespace {

TEST_CASE("a kernel finds the one byte in which two pieces of memory differ") {
  const auto device = open_emulator({});
  MemoryComparison comparison(*device);
  comparison.get_ready();
  // Less than what a thread reads at once, no multiple of it, and more than all threads of a block read in one step.
  for (const std::int64_t bytes : {1, 15, 16, 37, 4096 * 3 + 5}) {
    CAPTURE(bytes);
    const auto a = device->allocate(bytes), b = device->allocate(bytes);
    std::vector<std::byte> contents(static_cast<std::size_t>(bytes));
    for (std::size_t i = 0; i < contents.size(); ++i) contents[i] = static_cast<std::byte>(i * 7 + 3);
    a->write(contents);
    b->write(contents);
    CHECK(comparison.same(*a, *b));
    for (const std::int64_t at : {std::int64_t{0}, bytes / 2, bytes - 1}) {
      CAPTURE(at);
      const std::vector<std::byte> other{contents[static_cast<std::size_t>(at)] ^ std::byte{0x40}};
      b->write(other, at);
      CHECK_FALSE(comparison.same(*a, *b));
      b->write({contents.data() + at, 1}, at);
    }
    CHECK(comparison.same(*a, *b));
    CHECK_FALSE(comparison.same(*a, *device->allocate(bytes + 1)));
  }
  CHECK(comparison.same(*device->allocate(0), *device->allocate(0)));
}

}  // namespace
}  // namespace heddle
