// Operations on arrays of fuzzy numbers on a GPU: the bits of the number types on the host.
#include <doctest/doctest.h>

#include "runtime/fuzzy/array_checks.hpp"

namespace heddle::fuzzy {
namespace {

TEST_CASE_TEMPLATE("cuda: formulas over arrays of fuzzy numbers", Number, LowerUpper<double, 3>, LowerUpper<float, 3>,
                   MidpointRadius<double, 3>, MidpointRadius<float, 3>) {
  check_map<Number>("cuda");
}

TEST_CASE("cuda: sums, dot products and products with matrices of fuzzy numbers") { check_sums("cuda"); }

TEST_CASE("cuda: fuzzy numbers are sorted by their keys") { check_sort("cuda"); }

}  // namespace
}  // namespace heddle::fuzzy
