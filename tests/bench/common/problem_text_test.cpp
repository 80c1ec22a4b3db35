#include "heddle/bench/common/problem_text.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/kernels/error.hpp"
#include "heddle/kernels/sonfin/train.hpp"

namespace heddle::bench {
namespace {

TEST_CASE("problems are read in the order of the axes, and nothing else passes") {
  const KernelFamily& family = sonfin::train_family();
  CHECK(problem_of(family, "640x16x26") == sonfin::problem(640, 16, 26));
  CHECK(problems_of(family, {"640x16x26", "32x16x1"}) ==
        std::vector<Problem>{sonfin::problem(640, 16, 26), sonfin::problem(32, 16, 1)});
  for (const char* wrong : {"", "640", "640x16", "640x16x", "640x16x1x1", "ax16x1", "0x16x1", "640x16x1 ", "-1x16x1"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS((void)problem_of(family, wrong), Error);
  }
}

}  // namespace
}  // namespace heddle::bench
