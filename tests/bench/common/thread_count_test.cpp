#include "heddle/bench/common/thread_count.hpp"

#include <doctest/doctest.h>

namespace heddle::bench {
namespace {

TEST_CASE("another number of threads leaves the rest of a configuration as it is") {
  const Configuration four({{"side", std::int64_t{3}}, {"threads", std::int64_t{4}}});
  CHECK(with_threads(four, 1).text() == "side=3 threads=1");
  const Configuration none({{"side", std::int64_t{3}}});
  CHECK(with_threads(none, 1) == none);
}

}  // namespace
}  // namespace heddle::bench
