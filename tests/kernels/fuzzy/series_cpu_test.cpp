// The CPU kernels of the series for every instruction set that this processor has: the bits of the number types.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cfenv>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/kernels/common/cpu_builtin.hpp"
#include "heddle/kernels/fuzzy/array_family.hpp"
#include "heddle/kernels/fuzzy/comparison.hpp"
#include "heddle/kernels/fuzzy/cpu_space.hpp"
#include "heddle/kernels/fuzzy/series_family.hpp"

namespace heddle::fuzzy {
namespace {

/// Of one operation: the bytes that the kernel writes.
std::vector<std::byte> run(cpu::Kernel kernel, const HostImage& contents, const ArrayShape& shape, int terms) {
  std::vector<std::byte> result(static_cast<std::size_t>(shape.bytes()));
  HostImage inputs = contents;
  ArrayForm form = shape.form();
  std::array<void*, 6> arguments{
      inputs.at("a").data(), inputs.at("b").data(), inputs.at("c").data(), result.data(), &form, &terms};
  kernel({.thread = 0, .threads = 1, .arrivals = nullptr, .wait = nullptr, .wake = nullptr}, arguments.data());
  return result;
}

/// How many of the problems come out wrong.
int wrong(std::string_view architecture, Encoding encoding) {
  const auto& family = dynamic_cast<const ArrayFamily&>(series_family(encoding));
  const std::string expression =
      fmt::format("heddle::fuzzy::cpu::series_{}<{}, 256>", suffix(encoding), floats_in_vector(architecture));
  const cpu::Kernel kernel = cpu::builtin_kernel(expression, architecture);
  REQUIRE((kernel != nullptr));
  int failures = 0;
  // Cuts that groups of chains divide and do not; numbers that no vector divides, in more than one tile; terms that the
  // runs of midpoints divide, and one more.
  for (const std::int64_t cuts : {1, 5}) {
    for (const std::int64_t bits : {32, 64}) {
      for (const std::int64_t layout : {1, 2}) {
        for (const std::int64_t terms : {1, 64, 131}) {
          const Problem problem = Problem::from(family.axes(), {261, terms, cuts, bits, layout});
          const ArrayShape shape = shape_of(problem, encoding, problem.at("numbers"));
          for (const NumberKind kind : {NumberKind::hostile, NumberKind::usual}) {
            const HostImage contents = family.contents(problem, 11, kind);
            const HostImage found{{"result", run(kernel, contents, shape, static_cast<int>(terms))}};
            failures += compare_bits(found, family.expected(problem, contents), bits).accepted ? 0 : 1;
          }
        }
      }
    }
  }
  return failures;
}

TEST_CASE("the series has the bits of the number types in every instruction set, and leaves the rounding mode alone") {
  for (const std::string_view architecture : cpu::built_architectures()) {
    CAPTURE(architecture);
    for (const Encoding encoding : {Encoding::lower_upper, Encoding::midpoint_radius}) {
      CHECK(wrong(architecture, encoding) == 0);
      CHECK(std::fegetround() == FE_TONEAREST);
      volatile double tiny = 0x1p-60;
      CHECK(1.0 + tiny == 1.0);
      CHECK(-1.0 - tiny == -1.0);
    }
  }
}

}  // namespace
}  // namespace heddle::fuzzy
