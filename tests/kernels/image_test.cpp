#include "heddle/kernels/image.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

using namespace heddle;

TEST_CASE("contents that lie elsewhere are viewed where they are, and copied for who needs vectors") {
  auto memory = std::make_shared<const std::vector<std::byte>>(5, std::byte{3});
  const std::weak_ptr<const std::vector<std::byte>> alive = memory;
  {
    const SharedImage image({{"x", *memory}}, memory);
    const std::byte* const lies = memory->data();
    memory.reset();
    CHECK_FALSE(alive.expired());
    CHECK(image.views().at("x").data() == lies);
    const std::vector<SharedImage> owners{image};
    CHECK(*owners.front() == HostImage{{"x", std::vector<std::byte>(5, std::byte{3})}});
    CHECK(&*owners.front() == &*image);
  }
  CHECK(alive.expired());
}

TEST_CASE("contents that were made are viewed without a copy") {
  const SharedImage image = HostImage{{"x", {std::byte{1}, std::byte{2}}}, {"y", {}}};
  CHECK(image.views().at("x").data() == image->at("x").data());
  CHECK(image.views().at("y").empty());
}
