#include "heddle/kernels/device_identity.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "heddle/kernels/error.hpp"

namespace heddle {
namespace {

DeviceIdentity card() {
  return {.backend = "cuda",
          .name = "NVIDIA H200",
          .architecture = "9.0",
          .units = 132,
          .memory_gib = 140,
          .cache_bytes = 62914560,
          .local_bytes = 232448};
}

TEST_CASE("text and parse are inverse for any name") {
  std::mt19937 random(std::random_device{}());
  for (int i = 0; i < 500; ++i) {
    DeviceIdentity device = card();
    device.name.clear();
    for (auto length = random() % 20; length > 0; --length) device.name += static_cast<char>(random() % 256);
    if (i % 2 == 0) device.name += "|\\x00| 7 units|\n\"";
    device.units = static_cast<std::int64_t>(random());
    const std::string text = device.text();
    CAPTURE(text);
    CHECK(DeviceIdentity::parse(text) == device);
    CHECK(std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; }));  // one printable line
  }
}

TEST_CASE("different identities have different texts") {
  DeviceIdentity other = card();
  other.name = "NVIDIA H200|9.0";
  other.architecture = "";
  CHECK(other.text() != card().text());
  other = card();
  other.memory_gib = 141;
  CHECK(other.text() != card().text());
}

TEST_CASE("what is no device is refused") {
  const std::string good = card().text();
  REQUIRE(DeviceIdentity::parse(good) == card());
  for (std::size_t length = 0; length < good.size(); ++length) {
    CAPTURE(length);
    CHECK_THROWS_AS(static_cast<void>(DeviceIdentity::parse(good.substr(0, length))), Error);
  }
  const std::vector<std::string> bads{good + " ",
                                      good + "|",
                                      "cuda|a|9.0|-1 units|1 GiB|1 cache|1 local",
                                      "cuda|a|9.0|99999999999999999999 units|1 GiB|1 cache|1 local",
                                      "cuda|a|9.0|1 units|1 GiB|01 cache|1 local",
                                      "cuda|a\\|9.0|1 units|1 GiB|1 cache|1 local",
                                      "cuda|\\x4|9.0|1 units|1 GiB|1 cache|1 local"};
  for (const std::string& bad : bads) {
    CAPTURE(bad);
    CHECK_THROWS_AS(static_cast<void>(DeviceIdentity::parse(bad)), Error);
  }
}

TEST_CASE("compute capability") {
  const auto capability = [](const char* architecture) {
    DeviceIdentity device = card();
    device.architecture = architecture;
    return device.compute_capability();
  };
  CHECK(capability("9.0") == 90);
  CHECK(capability("7.5") == 75);
  CHECK(capability("12.0") == 120);
  for (const char* none : {"", "x86-64-v4", "9", "9.", ".5", "9.0a"}) CHECK(capability(none) == 0);
}

}  // namespace
}  // namespace heddle
