#include "heddle/bench/step/limits.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace heddle::bench {
namespace {

TEST_CASE("blocks of every link agree after every round of exchange") {
  const auto device = open_device("emulator");
  const std::vector<std::pair<std::string, int>> cases{{"block", 1}, {"cluster", 2}, {"cluster", 7}, {"grid", 2},
                                                       {"grid", 37}, {"grid", 97},   {"grid", 129}};
  for (const auto& one : cases) {
    CAPTURE(one.first);
    CAPTURE(one.second);
    Exchange measured;
    REQUIRE_NOTHROW(measured = measure_exchange(*device, one.first, one.second, 5));
    CHECK(measured.microseconds > 0.0);
  }
  for (const std::int64_t replicas : {1, 5, 32}) {
    CAPTURE(replicas);
    const Polling polling{.replicas = replicas, .first_look = 400};
    CHECK_NOTHROW(measure_exchange(*device, "grid", 37, 5, polling));
  }
}

}  // namespace
}  // namespace heddle::bench
