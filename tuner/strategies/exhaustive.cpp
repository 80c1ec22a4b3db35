// Everything, in the order of the space.
#include <numeric>

#include "heddle/tuner/strategies/fixed_order.hpp"
#include "heddle/tuner/strategies/strategies.hpp"

namespace heddle {

std::unique_ptr<Strategy> make_exhaustive(const SearchTask& task) {
  std::vector<std::size_t> order(task.configurations.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return std::make_unique<FixedOrder>(std::move(order));
}

}  // namespace heddle
