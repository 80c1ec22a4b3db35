#include "heddle/kernels/common/cuda_limits.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "heddle/kernels/template_source.hpp"

namespace heddle {
namespace {

bool says(std::string_view file, const std::string& words) {
  const auto& sources = embedded_sources();
  const auto found = std::ranges::find(sources, file, &SourceFile::name);
  REQUIRE(found != sources.end());
  return found->text.find(words) != std::string_view::npos;
}

TEST_CASE("the numbers that host code and templates both have are the same") {
  CHECK(says("heddle/kernels/common/reduce.cuh", fmt::format("constexpr int kWarp = {};", cuda::kWarp)));
  CHECK(says("heddle/kernels/sonfin/cuda/resident.cuh",
             fmt::format("kRegistersOfThread = Block <= 256 ? {} : {} / Block;", cuda::kRegistersOfThread,
                         cuda::kRegistersOfMultiprocessor)));
}

TEST_CASE("registers of a thread are limited by the thread and by its block") {
  CHECK(cuda::registers_of_thread(32) == 255);
  CHECK(cuda::registers_of_thread(256) == 255);
  CHECK(cuda::registers_of_thread(512) == 128);
  CHECK(cuda::registers_of_thread(1024) == 64);
}

}  // namespace
}  // namespace heddle
