#include "heddle/runtime/train/shuffle.hpp"

#include <numeric>
#include <utility>

namespace heddle {

namespace {

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

std::vector<std::int32_t> permutation(std::int64_t count, std::uint64_t seed, std::uint64_t stream) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::uint64_t state = mix(mix(seed + 0x9e3779b97f4a7c15u) + stream);
  for (std::size_t left = order.size(); left > 1; --left) {
    state += 0x9e3779b97f4a7c15u;
    const std::size_t pick = static_cast<std::size_t>(((mix(state) >> 32) * left) >> 32);
    std::swap(order[left - 1], order[pick]);
  }
  return order;
}

}  // namespace heddle
