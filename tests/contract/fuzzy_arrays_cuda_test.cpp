// Operations on arrays of fuzzy numbers on a GPU: the bits of the number types on the host.
#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/fuzzy/array_checks.hpp"

namespace heddle::fuzzy {
namespace {

TEST_CASE_TEMPLATE("cuda: formulas over arrays of fuzzy numbers", Number, LowerUpper<double, 3>, LowerUpper<float, 3>,
                   MidpointRadius<double, 3>, MidpointRadius<float, 3>) {
  check_map<Number>("cuda");
}

TEST_CASE("cuda: sums, dot products and products with matrices of fuzzy numbers") { check_sums("cuda"); }

TEST_CASE("cuda: fuzzy numbers are sorted by their keys") { check_sort("cuda"); }

TEST_CASE_TEMPLATE("cuda: arrays of fuzzy numbers are made of what a GPU has already", T, float, double) {
  Desk desk("cuda");
  std::vector<std::shared_ptr<Memory>> kept;
  check_given<T>(desk.calculator, [&](std::span<const std::byte> bytes) -> const void* {
    kept.push_back(desk.device->allocate(static_cast<std::int64_t>(bytes.size())));
    kept.back()->write(bytes);
    return kept.back()->pointer();
  });
}

}  // namespace
}  // namespace heddle::fuzzy
