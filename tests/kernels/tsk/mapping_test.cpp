#include "heddle/kernels/tsk/mapping.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <variant>

#include "heddle/kernels/tsk/train.hpp"

namespace heddle::tsk {
namespace {

DeviceIdentity gpu(std::int64_t memory_gib) {
  return {.backend = "cuda",
          .name = "test",
          .architecture = "9.0",
          .units = 132,
          .memory_gib = memory_gib,
          .cache_bytes = 50 << 20,
          .local_bytes = 227 << 10};
}

TEST_CASE("rows that do not fit the device's memory come in pieces by default, and each pass sees every row once") {
  const std::int64_t rows = 200'000'003;
  const Problem problem = tsk::problem(35, 2, 1, rows);
  const KernelFamily& family = constant_family();
  CHECK(family.default_configuration(gpu(140), problem).word("scheme") == "resident");
  const Configuration small = family.default_configuration(gpu(2), problem);
  REQUIRE(small.has("pieces"));
  CHECK(small.number("pieces") > 1);
  CHECK_FALSE(family.space(gpu(2)).violated(small, problem));

  const Plan plan = family.plan(small, problem, gpu(2), 0);
  const Buffer& inputs = plan.buffers[static_cast<std::size_t>(plan.buffer("rows"))];
  CHECK(inputs.piece_bytes > 0);
  CHECK(2 * inputs.piece_bytes < std::int64_t{1} << 31);
  for (const char* pass : {"accumulate_rows", "descend_rows"}) {
    std::int64_t covered = 0;
    std::set<int> pieces;
    for (const Launch& launch : plan.launches) {
      if (launch.kernel < 0 ||
          plan.kernels[static_cast<std::size_t>(launch.kernel)].name.find(pass) == std::string::npos) {
        continue;
      }
      if (!pieces.insert(launch.piece).second) break;  // the next iteration
      // Buffers, then D, L, K, T, the first row and the one behind the last.
      std::vector<std::int64_t> numbers;
      for (const Argument& argument : launch.arguments) {
        if (const auto* number = std::get_if<std::int32_t>(&argument)) numbers.push_back(*number);
      }
      CHECK(numbers[4] * 8 == launch.piece * inputs.piece_bytes);
      CHECK(numbers[5] > numbers[4]);
      covered += numbers[5] - numbers[4];
    }
    CHECK(covered == rows);
    CHECK(static_cast<std::int64_t>(pieces.size()) == small.number("pieces"));
  }
}

TEST_CASE("many rules and inputs have a default that their GPU has room for") {
  const KernelFamily& family = constant_family();
  for (const auto& [rules, dim, outputs, rows] :
       {std::tuple{4096, 2, 1, 65536}, {4096, 8, 1, 10'000'000}, {1000, 617, 26, 6238}, {35, 2, 1, 10'000'000}}) {
    const Problem problem = tsk::problem(rules, dim, outputs, rows);
    INFO(problem.text());
    CHECK_FALSE(family.space(gpu(140)).violated(family.default_configuration(gpu(140), problem), problem));
  }
}

}  // namespace
}  // namespace heddle::tsk
