#include "heddle/tuner/kept_contents.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

using namespace heddle;

namespace {

Problem kept_problem(std::int64_t n) { return Problem({{.name = "n", .value = n}}); }

SharedImage image(std::size_t bytes, std::byte value) { return HostImage{{"x", std::vector<std::byte>(bytes, value)}}; }

}  // namespace

TEST_CASE("contents are kept on the device until newer ones need their place") {
  const auto device = open_device("cpu");
  KeptContents kept(*device, 1000);
  kept.keep(kept_problem(1), image(400, std::byte{1}).views());
  kept.keep(kept_problem(2), image(500, std::byte{2}).views());
  REQUIRE(kept.find(kept_problem(1)) != nullptr);
  kept.keep(kept_problem(3), image(200, std::byte{3}).views());
  CHECK(kept.find(kept_problem(1)) == nullptr);
  kept.keep(kept_problem(4), image(2000, std::byte{4}).views());  // more than may be kept
  CHECK(kept.find(kept_problem(4)) == nullptr);
  kept.keep(kept_problem(5), image(100, std::byte{5}).views());
  const KeptContents::Buffers* const found = kept.find(kept_problem(5));
  REQUIRE(found != nullptr);
  const auto copy = device->allocate(100);
  copy->copy(*found->at("x"));
  std::vector<std::byte> bytes(100);
  copy->read(bytes);
  CHECK(bytes == image(100, std::byte{5})->at("x"));
  CHECK_FALSE(kept.empty());
  kept.clear();
  CHECK(kept.empty());
  kept.keep(kept_problem(6), image(1000, std::byte{6}).views());  // all of the room is free again
  CHECK(kept.find(kept_problem(6)) != nullptr);
}
