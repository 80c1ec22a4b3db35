#include "heddle/kernels/counted.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

namespace heddle {
namespace {

TEST_CASE("one has no s") {
  CHECK(counted(1, "row") == "1 row");
  CHECK(counted(std::size_t{2}, "row") == "2 rows");
  CHECK(counted(0, "row") == "0 rows");
  CHECK(counted(std::int64_t{21}, "row") == "21 rows");
  CHECK(counted(1, "class", "classes") == "1 class");
  CHECK(counted(3, "class", "classes") == "3 classes");
}

}  // namespace
}  // namespace heddle
