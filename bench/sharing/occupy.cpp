// Holds a share of a GPU's multiprocessors for some time, as another program on the same card would.
//
//   occupy cuda:0 0.5 20
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "heddle/bench/common/program.hpp"
#include "heddle/bench/sharing/occupier.hpp"

namespace {

bool number(const char* text, double most, double& value) {
  const char* end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, value);
  return error == std::errc() && at == end && value > 0.0 && value <= most;
}

}  // namespace

int main(int argc, char** argv) {
  double share = 0.0, seconds = 0.0;
  if (argc != 4 || !number(argv[2], 1.0, share) || !number(argv[3], 1e6, seconds)) {
    fmt::print(stderr, "usage: occupy DEVICE SHARE SECONDS, 0 < SHARE <= 1\n");
    return 2;
  }
  return heddle::bench::exit_code("occupy", [&] {
    const auto device = heddle::open_device(argv[1]);
    heddle::bench::Occupier occupier(*device, share);
    fmt::print("holds {} of {} multiprocessors\n", occupier.blocks(), device->identity().units);
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    occupier.stop();
    fmt::print("{} launches\n", occupier.launches());
    return 0;
  });
}
