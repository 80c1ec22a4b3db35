// Everything, in random order. The order follows a seeded hash of each configuration's text: problems of a grid then
// begin with the same configurations and share their compiled kernels, which an independent shuffle would not.
#include <algorithm>
#include <numeric>
#include <string>

#include "heddle/kernels/template_source.hpp"
#include "heddle/tuner/strategies/fixed_order.hpp"
#include "heddle/tuner/strategies/strategies.hpp"

namespace heddle {

std::vector<std::size_t> random_order(const std::vector<Configuration>& configurations, std::uint64_t seed) {
  std::vector<std::string> keys;
  keys.reserve(configurations.size());
  for (const Configuration& configuration : configurations) {
    keys.push_back(digest(std::to_string(seed) + ' ' + configuration.text()));
  }
  std::vector<std::size_t> order(configurations.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return order;
}

std::unique_ptr<Strategy> make_random(const SearchTask& task) {
  return std::make_unique<FixedOrder>(random_order(task.configurations, task.seed));
}

}  // namespace heddle
