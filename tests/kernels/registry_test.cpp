#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/kernel_family.hpp"

namespace heddle {
namespace {

TEST_CASE("families are found by name") {
  REQUIRE(!families().empty());
  for (const KernelFamily* each : families()) CHECK(&family(each->name()) == each);
}

TEST_CASE("an unknown family is answered with the names there are") {
  try {
    static_cast<void>(family("carpet"));
    FAIL("found");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    const std::string line = error.what();
    CHECK(line.find("carpet") != std::string::npos);
    for (const KernelFamily* each : families()) CHECK(line.find(each->name()) != std::string::npos);
  }
}

TEST_CASE("buffers of a plan by name") {
  Plan plan;
  plan.buffers = {{.name = "rows", .bytes = 4, .role = Role::input},
                  {.name = "sums", .bytes = 8, .role = Role::output}};
  CHECK(plan.buffer("sums") == 1);
  CHECK_THROWS_AS(static_cast<void>(plan.buffer("none")), std::out_of_range);
}

}  // namespace
}  // namespace heddle
